"""Reads what nvdisasm prints: instructions, words, labels, and what each instruction reads and writes.

`nvdisasm -c -hex -plr -lrm narrow` prints an instruction over two lines, one 64-bit half of the word on each; the second
line carries a column per register with `^` (written), `v` (read) or `x` (both). The live ranges are wrong in two places,
corrected here: the predicate operand of LDGSTS shows as written although it is read, and the predicates that P2R and R2P
move as a mask are not listed.
"""

import re
import subprocess
from dataclasses import dataclass, field

import control

FILES = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}
REGISTER = re.compile(r"(?<![\w.$@])(UR|UP|R|P)(\d+)(?!\w)")
_SECTION = re.compile(r"\.section\s+\.text\.([^,\s]+)")
_FIRST = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*/\* 0x([0-9a-f]{16}) \*/")
_SECOND = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/")
_LABEL = re.compile(r"([.$\w][^\s:]*):\s*$")
_ARCH = re.compile(r"EF_CUDA_SM(\d+)|\.target\s+sm_(\d+)")
_GUARD = re.compile(r"@(!?)(U?P\w+)\s+(.*)", re.S)

# Control may leave here, or the instruction after it need not follow it in time.
CONTROL = frozenset(
    "BRA BRX BRXU JMP JMX JMXU CALL RET EXIT BSYNC BREAK KILL BPT RTT WARPSYNC YIELD ACQBULK ENDCOLLECTIVE"
    " BRA.U UCALL URET UBRA".split()
)

# Before sm_90 the text does not show the uniform registers that describe a global access.
_DESCRIBED = frozenset("LD LDG ST STG ATOM ATOMG RED REDG LDGSTS CCTL".split())


@dataclass(slots=True)
class Operand:
    """An operand in the text: its registers, each with the part it plays."""

    text: str
    registers: list  # (file, number, role)


@dataclass(slots=True)
class Instruction:
    """One instruction as printed, with the raw word."""

    offset: int
    text: str
    word: int
    guard: str | None
    opcode: str
    operands: list
    reads: frozenset = frozenset()
    writes: frozenset = frozenset()
    trusted: bool = True  # text and live ranges agree
    live: frozenset = frozenset()  # registers with any mark: in use here
    stall: int = 0
    write_board: int = control.NONE
    read_board: int = control.NONE
    waits: int = 0
    _roles: dict = field(default_factory=dict)

    @property
    def base(self):
        return self.opcode.split(".", 1)[0]

    def set_control(self):
        self.stall = control.get(self.word, control.STALL)
        self.write_board = control.get(self.word, control.WRITE)
        self.read_board = control.get(self.word, control.READ)
        self.waits = control.get(self.word, control.WAIT)
        if self.base == "DEPBAR":
            # DEPBAR waits for the boards it names, at least in part.
            for board in re.findall(r"SB(\d)", self.text):
                self.waits |= 1 << int(board)
            for group in re.findall(r"\{([\d,\s]*)\}", self.text):
                for board in re.findall(r"\d", group):
                    self.waits |= 1 << int(board)

    def with_word(self, word, offset=None):
        """The same instruction under other control bits, perhaps at another place."""
        copy = Instruction(
            self.offset if offset is None else offset, self.text, word, self.guard, self.opcode, self.operands,
            self.reads, self.writes, self.trusted, self.live,
        )
        copy.set_control()
        return copy

    def role_read(self, register):
        """(role, position in its operand) of a register that is read, or None where the text does not tell."""
        return self._role(register, True)

    def role_written(self, register):
        return self._role(register, False)

    def _role(self, register, read):
        key = (register, read)
        if key not in self._roles:
            self._roles[key] = self._find_role(register, read)
        return self._roles[key]

    def _find_role(self, register, read):
        kind, number = register
        if read and self.guard and self.guard.lstrip("!") == f"{kind}{number}":
            return ("guard", 0)
        results = self.results()
        best = None
        for i, operand in enumerate(self.operands):
            if (i in results) == read:
                continue
            for file, base, role in operand.registers:
                if file == kind and 0 <= number - base < 256 and (best is None or number - base < best[1]):
                    best = (f"{role}{i}" if role == "op" else role, number - base)
        if best is None and kind == "P" and self.base in ("P2R", "R2P"):
            return ("mask", 0)
        if best is None and read and kind == "UR" and self.base in _DESCRIBED:
            return ("desc", 0)
        widest = 256 if "GMMA" in self.base else 8
        return best if best and best[1] < widest else None

    def results(self):
        """Indices of the operands that hold results: at most one register and two predicates, from the left."""
        found, registers, predicates = set(), 0, 0
        for i, operand in enumerate(self.operands):
            text = operand.text.removesuffix(".reuse")
            if match := re.fullmatch(r"(UR|UP|R|P)(\d+)", text):
                if (match[1], int(match[2])) not in self.writes:
                    break
            elif text not in ("RZ", "URZ", "PT", "UPT"):
                break
            if "P" in text:
                predicates += 1
            else:
                registers += 1
            if predicates > 2 or registers > 1:
                break
            found.add(i)
        return found


@dataclass(slots=True)
class Kernel:
    """The code of one section, cut into straight-line blocks."""

    name: str
    blocks: list = field(default_factory=list)
    labels: dict = field(default_factory=dict)  # offsets of the instructions behind them, by name

    def instructions(self):
        return [i for block in self.blocks for i in block]


@dataclass(slots=True)
class Listing:
    arch: int
    kernels: list


def split_operands(text):
    parts, depth, start = [], 0, 0
    for i, char in enumerate(text):
        if char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    if text[start:].strip():
        parts.append(text[start:].strip())
    return parts


def _operand(text):
    registers = []
    for match in REGISTER.finditer(text):
        before = text[: match.start()]
        if re.search(r"desc\[$|desc\[[^\]]*$", before):
            role = "desc"
        elif re.search(r"\bc\w*\[[^\]]*$|\]\[[^\]]*$", before) and re.match(r"[-~|!]*c", text):
            role = "constant"
        elif before.count("[") > before.count("]"):
            role = "address"
        else:
            role = "op"
        registers.append((match[1], int(match[2]), role))
    return Operand(text.lstrip("-!~|").rstrip("|"), registers)


def parse_text(text):
    """(guard, opcode, operands) of an instruction's text."""
    guard = None
    if match := _GUARD.match(text):
        guard = match[1] + match[2]
        text = match[3]
    opcode, _, rest = text.strip().partition(" ")
    return guard, opcode, [_operand(o) for o in split_operands(rest)]


class _Columns:
    """Which character column stands for which register; from the rows of digits above the code."""

    def __init__(self):
        self.rows, self.files, self.map = [], None, None

    def header(self, comment):
        cells = comment.split("|")[1:-1]
        titles = [c.strip() for c in cells]
        if titles and all(t in FILES for t in titles):
            self.files, self.rows, self.map = titles, [], None
            return True
        if self.files and self.map is None:
            self.rows.append(comment)
            if "#" in comment:
                self._finish(comment)
            return True
        return False

    def _finish(self, last):
        # Below each `#` count the columns begin: digits stand one above the other.
        self.map = {}
        position = 0
        cells = last.split("|")
        for title, cell in zip(self.files, cells[1:-1]):
            position = last.index("|", position) + 1
            for i in range(cell.index("#") + 1, len(cell)):
                if cell[i].isdigit():
                    column = position + i
                    digits = "".join(r[column] for r in self.rows if column < len(r) and r[column].isdigit())
                    self.map[column] = (FILES[title], int(digits))

    def sets(self, comment):
        """(read, written, in use)"""
        reads, writes, live = set(), set(), set()
        for match in re.finditer(r"[\^vx:]", comment):
            register = self.map.get(match.start())
            if register is None:
                raise ValueError(f"a mark in column {match.start()}, which stands for no register: {comment}")
            live.add(register)
            if match[0] in "vx":
                reads.add(register)
            if match[0] in "^x":
                writes.add(register)
        return reads, writes, live


def _correct(instruction, reads, writes, live=()):
    """What the live ranges are known to get wrong."""
    base = instruction.base
    if base == "LDGSTS":
        moved = {r for r in writes if r[0] in ("P", "UP")}
        writes -= moved
        reads |= moved
    if base in ("P2R", "R2P"):
        mask = re.search(r"\b0x([0-9a-f]+)$", instruction.text)
        if mask and instruction.opcode == base:
            bits = {("P", i) for i in range(7) if int(mask[1], 16) >> i & 1}
            (reads if base == "P2R" else writes).update(bits)
        else:
            instruction.trusted = False
    instruction.reads, instruction.writes, instruction.live = frozenset(reads), frozenset(writes), frozenset(live)
    instruction.trusted &= _agrees(instruction)


def _agrees(instruction):
    """Whether every register named is in the live ranges, and every register there has its place in the text."""
    reads, writes = instruction.reads, instruction.writes
    named = {(f, n) for o in instruction.operands for f, n, _ in o.registers}
    if instruction.guard and re.fullmatch(r"U?P\d", instruction.guard.lstrip("!")):
        guard = instruction.guard.lstrip("!")
        named.add((guard[:-1], int(guard[-1])))
    return (
        named <= reads | writes
        and all(instruction.role_read(r) for r in reads)
        and all(instruction.role_written(r) for r in writes)
    )


def parse(lines):
    """A listing from the lines of `nvdisasm -c -hex -plr -lrm narrow`."""
    arch, kernels, kernel, block, columns, pending = None, [], None, None, _Columns(), None
    cut, labels = True, []
    for line in lines:
        line = line.rstrip("\n")
        code, bar, comment = line.partition("// |")
        comment = "|" + comment if bar else ""
        if not bar:
            code = code.partition("// +")[0]
        if pending is None and (match := _SECTION.search(code)):
            kernel, columns, cut, labels = Kernel(match[1].strip('"')), _Columns(), True, []
            kernels.append(kernel)
            continue
        if arch is None and (match := _ARCH.search(code)):
            arch = int(match[1] or match[2])
        if kernel is None:
            continue
        if match := _FIRST.match(code):
            guard, opcode, operands = parse_text(match[2])
            pending = Instruction(int(match[1], 16), match[2], int(match[3], 16), guard, opcode, operands)
        elif pending and (match := _SECOND.match(code)):
            pending.word |= int(match[1], 16) << 64
            pending.set_control()
            if not columns.map:
                raise ValueError(f"{kernel.name}: an instruction above the register columns")
            _correct(pending, *columns.sets(comment))
            if cut:
                block = []
                kernel.blocks.append(block)
            kernel.labels.update((label, pending.offset) for label in labels)
            labels = []
            block.append(pending)
            cut = pending.base in CONTROL
            pending = None
        elif comment and not code.strip() and columns.header(comment):
            pass
        elif match := _LABEL.match(code.strip()):
            cut = True
            labels.append(match[1])
    if arch is None:
        raise ValueError("no architecture in nvdisasm's output")
    return Listing(arch, [k for k in kernels if k.blocks])


class Disassembler:
    """Tries the given nvdisasm programs in turn: not every version reads every file."""

    def __init__(self, programs):
        self.programs = list(programs)

    def listing(self, path):
        errors = []
        for program in self.programs:
            process = subprocess.Popen(
                [program, "-c", "-hex", "-plr", "-lrm", "narrow", str(path)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            )
            with process:
                try:
                    found = parse(process.stdout)
                except ValueError as error:
                    found, reason = None, str(error)
                    process.stdout.read()
                problem = process.stderr.read()
            if found and process.returncode == 0 and found.kernels:
                return found
            errors.append(f"{program}: {problem.strip() or (reason if found is None else 'no code')}")
        raise RuntimeError(f"{path}: " + "; ".join(errors))
