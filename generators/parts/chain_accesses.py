"""Single accesses of a chain: instructions that write a matrix to the place, or read it from there."""

from __future__ import annotations

from collections.abc import Sequence

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.operand import Factors
from cts.generators.build.kernels import Matrix, Source
from cts.generators.build.memory import FILL, OBJECT, numbered, own_lines
from cts.generators.build.operands import Varying
from cts.generators.parts.chain_places import Access, Chain, Kind
from cts.generators.parts.flow import draw_condition
from cts.generators.policy.dependence import DependenceDraws


def write_matrix(choices: Choices, chain: Chain, access: Access, given: Sequence[Matrix]) -> None:
    """Write a matrix that differs from what the place holds."""
    kernel = chain.kernel
    with kernel.at_scope(access.kind.scope):
        alike = [m for m in given if m.type == chain.type(access.kind)]
        own = choices.chance(DependenceDraws.GIVEN)
        matrix = choices.pick(alike) if alike and own else fresh_matrix(choices, chain, access.kind)
        buffer, offset = _begins(chain, access)
        chain.order_before(choices, access)
        turn = choices.chance(DependenceDraws.TURN) and access.kind.scope is chain.kind.scope
        if turn:
            kernel.program.begin_if(kernel.constness.scalars([draw_condition(choices, kernel)])[0])
        if access.way == "plain":
            stride, written = kernel.constness.scalars([chain.stride, offset])
            kernel.program.emit(
                model.MatrixStore(matrix=matrix.id, buffer=buffer, stride=stride, order=access.order, offset=written)
            )
        elif access.way == "tensor":
            layout, begins = _layout(choices, chain, access, offset)
            kernel.program.emit(
                model.MatrixStoreTensor(
                    matrix=matrix.id, buffer=buffer, layout=layout, offset=kernel.constness.scalars([begins])[0]
                )
            )
        else:
            _call(chain, access, matrix, offset)
        if turn:
            kernel.program.end_if()


def read_matrix(choices: Choices, chain: Chain, access: Access) -> Matrix:
    """Read a matrix from the place."""
    kernel = chain.kernel
    with kernel.at_scope(access.kind.scope):
        buffer, offset = _begins(chain, access)
        if access.way == "callback":
            value = fresh_matrix(choices, chain, access.kind)
            chain.order_before(choices, access)
            return _call(chain, access, value, offset)
        if access.way == "plain":
            chain.order_before(choices, access)
            matrix = chain.matrix(access.kind)
            stride, written = kernel.constness.scalars([chain.stride, offset])
            kernel.program.emit(
                model.MatrixLoad(
                    id=matrix.id, type=matrix.type, buffer=buffer, stride=stride, order=access.order, offset=written
                )
            )
            return matrix
        layout, begins = _layout(choices, chain, access, offset)
        spare = _object(chain, access.kind)
        chain.order_before(choices, access)
        matrix = chain.matrix(access.kind)
        decode = None
        if access.way == "decoded":
            component = access.kind.component
            function = model.Decode(
                returns=component, dim=2, block=(model.BlockField(name="v", type=component),), body="block.v"
            )
            decode = kernel.function("decode", function)
        kernel.program.emit(
            model.MatrixLoadTensor(
                id=matrix.id,
                object=spare,
                buffer=buffer,
                layout=layout,
                offset=kernel.constness.scalars([begins])[0],
                decode=decode,
            )
        )
        return matrix


def _begins(chain: Chain, access: Access) -> tuple[str, Varying]:
    """The buffer, or a pointer into it, and the offset from there."""
    kernel, offset = chain.kernel, chain.offset(access)
    if not access.pointer:
        return chain.region.name, offset
    name = kernel.name("q")
    kernel.program.emit(model.Pointer(id=name, buffer=chain.region.name, offset=kernel.constness.scalars([offset])[0]))
    return name, Varying(0)


def _layout(choices: Choices, chain: Chain, access: Access, offset: Varying) -> tuple[str, Varying]:
    """A layout of the lines of one place, or a slice of all; and the offset from which it counts."""
    kernel, kind = chain.kernel, access.kind
    sliced, clamped = choices.chance(DependenceDraws.SLICED), choices.chance(DependenceDraws.CLAMPED)
    mode = model.ClampMode.Constant if clamped else model.ClampMode.Undefined
    f = offset.factors
    if not sliced or access.pointer:
        layout = kernel.program.tensor([kind.rows, kind.cols], mode)
        return _strided(chain, layout), offset
    lines = chain.region.size // chain.region.element_size // chain.stride
    whole = _strided(chain, kernel.program.tensor([lines, kind.cols], mode))
    first = Varying(
        offset.base // chain.stride,
        Factors(*(n // chain.stride for n in (f.wg_x, f.wg_y, f.wg_z, f.sg, f.loop, f.loop_outer))),
    )
    return kernel.program.sliced(whole, [first, 0], [kind.rows, kind.cols]), Varying(0)


def _strided(chain: Chain, layout: str) -> str:
    kernel = chain.kernel
    name = kernel.name("t")
    strides = kernel.constness.scalars([chain.stride, 1])
    kernel.program.emit(model.TensorLayoutSetStride(id=name, of=layout, strides=strides))
    return name


def _object(chain: Chain, kind: Kind) -> str:
    """A matrix of a type whose numbers no load keeps."""
    kernel = chain.kernel
    name, component = kernel.name("c"), kind.component
    kernel.program.emit(
        model.MatrixConstant(id=name, type=chain.type(kind), value=kernel.constness.component(OBJECT[component]))
    )
    return name


def _call(chain: Chain, access: Access, matrix: Matrix, offset: Varying) -> Matrix:
    """A function of elements that writes each element to the place, or returns what is there."""
    kernel, component, name = chain.kernel, chain.kind.component, chain.region.name
    place = f"at + row * {chain.stride} + col"
    if access.write:
        function = model.PerElement(
            type=component,
            body=f"o[{place}] = value\nvalue",
            extras=(model.Extra(name="at", integer=True),),
            outputs=(model.Output(name="o", type=component, buffer=name),),
        )
    else:
        function = model.PerElement(
            type=component,
            body=f"t[{place}]",
            extras=(model.Extra(name="at", integer=True),),
            tables=(model.Table(name="t", type=component, buffer=name),),
        )
    result = chain.matrix(access.kind)
    kernel.program.emit(
        model.MatrixPerElement(
            id=result.id,
            matrix=matrix.id,
            function=kernel.function("f", function),
            integers=kernel.constness.scalars([offset]),
        )
    )
    return result


def fresh_matrix(choices: Choices, chain: Chain, kind: Kind) -> Matrix:
    """A matrix from memory that nothing else accesses, other numbers each time."""
    kernel = chain.kernel
    component = kind.component
    region = chain.sources.get(component)
    if region is None:
        name = kernel.region_name("more", 0)
        region = Source(name, component, 1, model.StorageClass.StorageBuffer, numbered(component, component))
        chain.sources[component] = region
        kernel.add(region)
    chain.fresh += 1
    # An odd number of lines further each time: so neighbours differ.
    stride, offset = own_lines(region, kernel.grid, component, (kind.rows, kind.cols), chain.fresh)
    matrix = chain.matrix(kind)
    written_stride, written = kernel.constness.scalars([stride, offset])
    kernel.program.emit(
        model.MatrixLoad(id=matrix.id, type=matrix.type, buffer=region.name, stride=written_stride, offset=written)
    )
    return matrix


def keep_matrix(choices: Choices, chain: Chain, matrix: Matrix, scope: model.Scope) -> None:
    """Store what was read to a place of its own."""
    kernel, component = chain.kernel, matrix.component
    with kernel.at_scope(scope):
        region = Source(
            kernel.region_name("kept", 0),
            component,
            1,
            model.StorageClass.StorageBuffer,
            model.Data(fill=FILL[component]),
        )
        kernel.add(region)
        stride, offset = own_lines(region, kernel.grid, component, (matrix.rows, matrix.cols))
        written_stride, written = kernel.constness.scalars([stride, offset])
        kernel.program.emit(
            model.MatrixStore(matrix=matrix.id, buffer=region.name, stride=written_stride, offset=written)
        )
