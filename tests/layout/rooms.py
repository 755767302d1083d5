#!/usr/bin/env python3
"""Checks the source tree against the table of rooms in docs/architecture.md.

    tests/layout/rooms.py [ROOT]

The table has the columns `room | what lives there | may include`. Its first column names every folder of tributary/, its
last one the rooms whose headers a room may include, separated by commas. A room may always include itself. A subfolder
(data/image) belongs to its room (data).
"""
import re
import sys
from pathlib import Path

HEADING = ("room", "what lives there", "may include")
NOTHING = {"", "-", "–", "—", "nothing", "none"}
EVERYTHING = {"all", "all rooms", "everything", "every room"}
# Folders of the repository that the table may also name, though they are not below tributary/.
OUTSIDE = {"cli", "tests", "fuzz", "bench", "web", "examples"}
# Folders of tests/ that do not mirror a room.
EXTRA_TESTS = {"support", "parity", "cli", "web", "node", "layout", "python", "packages"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"tributary/([^/"]+)/[^"]*"', re.MULTILINE)


def plain_name(cell):
    """The room that a cell names: `tributary/data/` is data."""
    return re.sub(r"^tributary/|/\*?$", "", re.sub(r"[`*]|\s*\(.*?\)", "", cell).strip())


def read_table(text):
    """Maps each room to the set of rooms it may include, and lists the errors in the table."""
    rows, problems, inside = {}, [], False
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if tuple(cell.lower() for cell in cells) == HEADING:
            inside = True
        elif inside and not set(line) <= set("|-: "):
            if len(cells) != len(HEADING):
                problems.append(f"a row of the table of rooms has {len(cells)} cells instead of {len(HEADING)}: {line}")
                continue
            name = plain_name(cells[0])
            if name in rows:
                problems.append(f"the table of rooms names {name} twice")
            rows[name] = cells[2]
    if not rows:
        return {}, [f"there is no table with the columns {' | '.join(HEADING)}"]
    rooms = {}
    for name, cell in rows.items():
        allowed = [plain_name(word) for word in cell.split(",")]
        if len(allowed) == 1 and allowed[0].lower() in NOTHING:
            allowed = []
        elif len(allowed) == 1 and allowed[0].lower() in EVERYTHING:
            allowed = [other for other in rows if other not in OUTSIDE]
        rooms[name] = set(allowed)
        problems += [f"the table lets {name} include {other}, which it does not name as a room"
                     for other in allowed if other not in rows]
    return rooms, problems


def cycle_in(rooms):
    """Rooms that may include each other in a circle, as a path that returns to its start; None if there are none."""
    done, path = set(), []

    def visit(room):
        if room in path:
            return path[path.index(room):] + [room]
        if room in done:
            return None
        path.append(room)
        for other in sorted(rooms.get(room, set()) - {room}):
            found = visit(other)
            if found:
                return found
        done.add(path.pop())
        return None

    return next((found for found in map(visit, sorted(rooms)) if found), None)


def folders_with_files(parent):
    """Names of the folders in `parent` that hold a file at any depth."""
    return {folder.name for folder in parent.iterdir()
            if folder.is_dir() and any(path.is_file() for path in folder.rglob("*"))} if parent.is_dir() else set()


def included_rooms(folder):
    """Yields (path, line, room) for every include of a header of tributary/ below `folder`."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".h", ".cpp") and path.is_file():
            text = path.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                yield path, text.count("\n", 0, match.start(1)) + 1, match.group(1)


def rooms_of_build(text):
    """The top-level rooms that CMakeLists.txt compiles, from PLAIN_ROOMS and TENSOR_ROOMS."""
    found = set()
    for variable in ("PLAIN_ROOMS", "TENSOR_ROOMS"):
        match = re.search(rf"set\({variable}\s([^)]*)\)", text)
        if not match:
            return None
        found |= {word.split("/")[0] for word in match.group(1).split()}
    return found


def problems_of(root):
    """All differences between the tree at `root` and its table, one sentence each."""
    rooms, problems = read_table((root / "docs/architecture.md").read_text(encoding="utf-8"))
    if not rooms:
        return problems
    inner = {room for room in rooms if room not in OUTSIDE}
    there = folders_with_files(root / "tributary")
    problems += [f"tributary/{room}/ is missing in the table of rooms" for room in sorted(there - inner)]
    problems += [f"the table names {room}, but there is no tributary/{room}/" for room in sorted(inner - there)]
    circle = cycle_in({room: rooms[room] for room in inner})
    if circle:
        problems.append(f"the table lets rooms include each other in a circle: {' -> '.join(circle)}")
    for room in sorted(there & inner) + [name for name in ("cli",) if name in rooms]:
        folder = root / room if room in OUTSIDE else root / "tributary" / room
        for path, line, other in included_rooms(folder):
            if other != room and other not in rooms[room]:
                problems.append(f"{path.relative_to(root)}:{line}: {room} may not include {other}")
    problems += [f"tests/{name}/ mirrors no room" for name in
                 sorted(folders_with_files(root / "tests") - inner - EXTRA_TESTS)]
    built = rooms_of_build((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    if built is None:
        problems.append("CMakeLists.txt sets no PLAIN_ROOMS or no TENSOR_ROOMS")
    else:
        problems += [f"CMakeLists.txt compiles the room {room}, which the table does not name" for room in sorted(built - inner)]
        problems += [f"CMakeLists.txt does not compile the room {room}" for room in sorted(inner - built)]
    return problems


def main(arguments):
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2]
    problems = problems_of(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
