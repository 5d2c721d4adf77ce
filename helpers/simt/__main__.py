"""python -m helpers.simt: what the simulator knows of PTX, one instruction or all of them."""

import argparse
import sys
from pathlib import Path

from .errors import UnsupportedInstruction
from .instructions import explain, page

__all__ = ["main"]

PAGE = Path(__file__).parents[2] / "docs" / "instructions.md"


def main(arguments=None) -> int:
    """Run a command line; the exit status is 1 for an instruction that is not simulated."""
    parser = argparse.ArgumentParser(prog="python -m helpers.simt", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("explain", help="what an instruction does here, or why it is refused")
    one.add_argument("mnemonic", help="with its suffixes, such as shfl.sync.bfly.b32")
    every = commands.add_parser("instructions", help="write the page of all instructions")
    every.add_argument("file", nargs="?", type=Path, default=PAGE, help="- writes to the screen")
    chosen = parser.parse_args(arguments)
    if chosen.command == "explain":
        return say(chosen.mnemonic)
    if str(chosen.file) == "-":
        sys.stdout.write(page())
        return 0
    chosen.file.parent.mkdir(parents=True, exist_ok=True)
    chosen.file.write_text(page(), encoding="utf-8")
    print(f"wrote {chosen.file}")
    return 0


def say(mnemonic: str) -> int:
    try:
        print(explain(mnemonic))
    except UnsupportedInstruction as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
