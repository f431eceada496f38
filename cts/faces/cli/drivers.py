"""`cts drivers`: what can be tested here, and what each driver can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import JsonFile

#: Values of an option are listed in so many characters.
LONGEST = 80

if TYPE_CHECKING:
    from msgspec import Struct

    from cts.device.capabilities import Capabilities
    from cts.device.driver import Described


def drivers(
    driver: Annotated[
        list[str] | None,
        typer.Option(
            "--driver", "-d", help="Only this driver, with its options. Repeatable.", autocompletion=completion.drivers
        ),
    ] = None,
    json: JsonFile = None,
) -> None:
    """List drivers with their options and capabilities.

    --json also lists variants (must pass) and mutants (must fail).
    """
    from cts.base.errors import BadInput, CtsError
    from cts.plugins import registry

    check_json(json)
    entries: list[dict[str, Any]] = []
    status = 0
    for spec in driver or registry.names("cts.drivers"):
        try:
            entries.append(_described(spec))
        except CtsError as e:
            entries.append({"name": spec, "error": str(e)})
            if driver:
                status = max(status, 2 if isinstance(e, BadInput) else 3)
    write_json(json, entries)
    if not is_stdout(json):
        _table(entries)
    raise typer.Exit(status)


def _described(spec: str) -> dict[str, Any]:
    from cts.device.driver import MutantFactory, OptionsFactory, ReportingDriver, VariantFactory
    from cts.plugins import registry
    from cts.running.opening import open_driver

    opened = open_driver(spec)
    described: dict[str, Any] = {"name": spec, "capabilities": _capabilities(opened.capabilities)}
    if isinstance(opened.driver, ReportingDriver):
        described["report"] = [list(row) for row in opened.driver.report()]
    opened.close()
    factory = registry.driver_factory(spec.partition(":")[0])
    if isinstance(factory, OptionsFactory):
        described["options"] = _options(factory.option_struct)
    if isinstance(factory, VariantFactory):
        described["variants"] = _listed(factory.variants())
    if isinstance(factory, MutantFactory):
        described["mutants"] = _listed(factory.mutants())
    return described


def _options(declared: type[Struct]) -> list[dict[str, Any]]:
    from cts.device.driver_options import options_of

    return [
        {
            "name": option.name,
            "values": list(option.values) or option.takes,
            "default": option.default,
            "description": option.description,
        }
        for option in options_of(declared)
    ]


def _listed(choices: list[Described]) -> list[dict[str, str]]:
    return [{"name": d.name, "area": d.area, "description": d.description} for d in choices]


def _capabilities(capabilities: Capabilities) -> dict[str, Any]:
    matrices = [
        {
            "component": m.component.value,
            "use": m.use.value,
            "scope": m.scope.value,
            "rows": m.rows,
            "cols": m.cols,
            "exact": m.exact,
            "subgroups": m.subgroups,
        }
        for m in capabilities.matrices
    ]
    return {
        "subgroup_size": capabilities.subgroup_size,
        "features": sorted(f.value for f in capabilities.features),
        "max_dimension": capabilities.max_dimension,
        "max_subgroups": capabilities.max_subgroups,
        "max_workgroup_bytes": capabilities.max_workgroup_bytes,
        "workgroup_scope_subgroups": capabilities.workgroup_scope_subgroups,
        "workgroup_scope_reserved": capabilities.workgroup_scope_reserved,
        "max_buffer_bytes": capabilities.max_buffer_bytes,
        "max_address_bytes": capabilities.max_address_bytes,
        "matrices": matrices,
    }


def _table(entries: list[dict[str, Any]]) -> None:
    for entry in entries:
        typer.echo(entry["name"])
        if "error" in entry:
            typer.echo("  " + entry["error"].replace("\n", "\n  "))
            continue
        for label, text in _rows(entry):
            typer.echo(f"  {label:<15} {text}")


def _option(option: dict[str, Any]) -> str:
    values = option["values"] if isinstance(option["values"], str) else "|".join(option["values"])
    default = f" (default: {option['default']})" if option["default"] else ""
    return f"{option['name']}={values if len(values) <= LONGEST else 'NAME'}: {option['description']}{default}"


def _rows(entry: dict[str, Any]) -> list[tuple[str, str]]:
    from cts.case.model import Feature

    capabilities = entry["capabilities"]
    granularity: dict[tuple[str, str], list[str]] = {}
    for m in capabilities["matrices"]:
        how = f"{'exactly' if m['exact'] else 'multiples of'} {m['rows']}x{m['cols']}"
        granularity.setdefault((m["scope"], how), []).append(m["component"])
    rows = [("subgroup size", str(capabilities["subgroup_size"]))]
    rows += [("feature", feature) for feature in capabilities["features"]]
    rows += [
        ("matrices", f"{scope} scope, {how}: {', '.join(dict.fromkeys(components))}")
        for (scope, how), components in granularity.items()
    ]
    rows.append(("limits", f"dimensions up to {capabilities['max_dimension']}"))
    subgroups, memory = capabilities["max_subgroups"], capabilities["max_workgroup_bytes"]
    rows.append(("limits", f"workgroups of up to {subgroups} subgroups with {memory} bytes of workgroup memory"))
    if Feature.WORKGROUP_SCOPE.value in capabilities["features"]:
        subgroups = min(subgroups, capabilities["workgroup_scope_subgroups"])
        memory -= capabilities["workgroup_scope_reserved"]
        rows.append(("limits", f"with Workgroup scope up to {subgroups} subgroups, with {memory} bytes (VK-025)"))
    rows += [(name, value) for name, value in entry.get("report", ())]
    rows += [("option", _option(option)) for option in entry.get("options", ())]
    for kind, meaning in (("variants", "legal choices"), ("mutants", "planted bugs")):
        if kind in entry:
            rows.append((kind, f"{len(entry[kind])} {meaning} (listed by --json)"))
    return rows
