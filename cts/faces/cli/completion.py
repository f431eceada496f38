"""What a shell offers for options and arguments: `cts --install-completion`. It must be quick, and imports no NumPy."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def areas(incomplete: str) -> list[str]:
    """Names of areas."""
    from cts.plugins import registry

    return _beginning(incomplete, registry.names("cts.areas"))


def universes(incomplete: str) -> list[str]:
    """Names of the universes that come with the suite."""
    from cts.plugins.universes import packaged

    return _beginning(incomplete, packaged())


def rules(incomplete: str) -> list[str]:
    """Names of rules for tools that accept or reject modules."""
    from cts.modules.validation.files import rule_names

    return _beginning(incomplete, rule_names())


def validators(incomplete: str) -> list[str]:
    """Names of tools that accept or reject modules."""
    from cts.device.driver import ValidatingFactory
    from cts.plugins import registry

    drivers = registry.names("cts.drivers")
    layers = [n for n in drivers if isinstance(registry.driver_factory(n), ValidatingFactory)]
    return _beginning(incomplete, ["spirv-val", "spirv-val:command=", "glslang", "glslang:command=", *layers])


def actions_of_findings(incomplete: str) -> list[str]:
    """What `cts findings` does."""
    from cts.faces.cli.findings import ACTIONS

    return _beginning(incomplete, ACTIONS)


def claims(incomplete: str) -> list[str]:
    """Pages of findings; the ids of a page's claims once its name is typed."""
    from cts.judging.known.claims import load, pages

    by_page = pages()
    page = incomplete.rpartition("/")[0]
    return _beginning(incomplete, [claim.id for claim in load(by_page[page])] if page in by_page else by_page)


def claimed_drivers(incomplete: str) -> list[str]:
    """Drivers, and tools that accept or reject modules."""
    return [*dict.fromkeys([*drivers(incomplete), *validators(incomplete)])]


def profiles(incomplete: str) -> list[str]:
    """Names of profiles."""
    from cts.running.profiles import PROFILES

    return _beginning(incomplete, PROFILES)


def formats(incomplete: str) -> list[str]:
    """Formats of `cts export`."""
    from cts.showing.export import FORMATS

    return _beginning(incomplete, FORMATS)


def drivers(incomplete: str) -> list[str]:
    """Names of drivers; after the colon, names of their options, and after these and = their values.

    What a driver can be is known by its module alone, which is imported once the colon is typed.
    """
    from cts.device.driver import OptionsFactory
    from cts.device.driver_options import options_of
    from cts.plugins import registry

    name, colon, option_text = incomplete.partition(":")
    names = registry.names("cts.drivers")
    if not colon or name not in names:
        return _beginning(incomplete, names)
    factory = registry.driver_factory(name)
    before = option_text.rpartition(",")[0]
    head = f"{name}:{before}," if before else f"{name}:"
    last = incomplete.removeprefix(head)
    options = options_of(factory.option_struct) if isinstance(factory, OptionsFactory) else ()
    meant = [o for o in options if f"{o.name}=".startswith(last) or last.startswith(f"{o.name}=")]
    (only,) = meant if len(meant) == 1 else (None,)
    choices = [f"{only.name}={v}" for v in only.values] if only and only.values else [f"{o.name}=" for o in meant]
    return [head + choice for choice in _beginning(last, choices)]


def flaky(incomplete: str) -> list[str]:
    """Policies for flaky findings."""
    from cts.judging.known.baseline import FLAKY

    return _beginning(incomplete, FLAKY)


def variations(incomplete: str) -> list[str]:
    """Kinds of variations of drivers."""
    return _beginning(incomplete, ["forms=", "optimised=", "stages=", "subgroup-sizes="])


def compared(incomplete: str) -> list[str]:
    """Names of shipped results, and folders."""
    from cts.base.shipped import shipped

    return [*_beginning(incomplete, shipped("results", ".json")), *paths(incomplete)]


def pages(incomplete: str) -> list[str]:
    """Names of the pages of the documentation."""
    from cts.base.shipped import shipped

    return _beginning(incomplete, shipped("", ".md"))


def kinds(incomplete: str) -> list[str]:
    """Kinds of sites that conditions can speak of."""
    from cts.features import KINDS

    return _beginning(incomplete, KINDS)


def cases(incomplete: str) -> list[str]:
    """Names of corpus cases, their areas alone where nothing is typed yet; and files."""
    from cts.running.names import named_files, root

    names = [name for name, _ in named_files(root())]
    if not incomplete:
        names = [name.partition(".")[0] for name in names]
    return [*_beginning(incomplete, sorted(set(names))), *paths(incomplete)]


def paths(incomplete: str) -> list[str]:
    """Files and folders, of which zsh and fish offer none by themselves."""
    folder, slash, name = incomplete.rpartition("/")
    try:
        entries = sorted((p.name, p.is_dir()) for p in Path(f"{folder}{slash}" or ".").expanduser().iterdir())
    except OSError:
        return []
    hidden = name.startswith(".")
    return _beginning(
        incomplete,
        [
            f"{folder}{slash}{p}{'/' if is_folder else ''}"
            for p, is_folder in entries
            if hidden or not p.startswith(".")
        ],
    )


def _beginning(incomplete: str, choices: Iterable[str]) -> list[str]:
    return [choice for choice in choices if choice.startswith(incomplete)]
