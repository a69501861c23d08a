"""The IPython shell of a kernel: no terminal, nothing on disk, values and errors as data."""

import ast
import contextlib
import gc
import inspect
import linecache
import re
import sys
import tempfile

import IPython
from IPython.core import interactiveshell
from IPython.core.compilerop import CachingCompiler
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.profiledir import ProfileDir
from IPython.utils.text import LSString, SList
from traitlets import Type
from traitlets.config import Config

from . import commands, errors, figures
from .display import ResultPublisher, ValueHook


class CellCompiler(CachingCompiler):
    """Compiles cells under names of their own, with their source known to tracebacks, inspect and warnings."""

    def __init__(self):
        super().__init__()
        self.cell_name = "<cell>"
        self._parsed = None

    def cache(self, transformed_code, number=0, raw_code=None):
        """Registers the source of a cell. Returns its file name."""
        name = self.cell_name
        self._filename_map[name] = number
        linecache.cache[name] = (len(transformed_code), None, _source_lines(transformed_code), name)
        return name

    def parse_early(self, source: str) -> ast.AST:
        """Parses a cell and keeps the tree for the `ast_parse` that follows."""
        with _collector_off():
            tree = super().ast_parse(source, self.cell_name)
        self._parsed = (source, self.flags, tree)
        return tree

    def ast_parse(self, source, filename="<unknown>", symbol="exec"):
        """As in IPython, but a cell that was parsed early is not parsed again."""
        parsed, self._parsed = self._parsed, None
        if parsed is not None and parsed[:2] == (source, self.flags) and symbol == "exec":
            return parsed[2]
        return super().ast_parse(source, filename, symbol)


@contextlib.contextmanager
def _collector_off():
    # The trees of large cells are millions of objects, none of them garbage.
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _source_lines(source: str) -> list[str]:
    # str.splitlines() also splits at form feeds and Unicode separators, which Python does not count as lines.
    return [line + "\n" for line in source.replace("\r\n", "\n").replace("\r", "\n").split("\n")]


class Exiter:
    """`exit()` and `quit()`: end the cell with an exit code. The state of the kernel is kept."""

    def __repr__(self):
        return "Use exit() to end the cell; the state of the kernel is kept"

    def __call__(self, code=None):
        raise SystemExit(code)


class KernelShell(InteractiveShell):
    """InteractiveShell whose values go to `display_pub.outbox` and whose errors stay in the result of the cell."""

    compiler_class = Type(CellCompiler)
    displayhook_class = Type(ValueHook)
    display_pub_class = Type(ResultPublisher)

    def __init__(self, **kwargs):
        self.format_errors: list[BaseException] = []
        self.cell_running = False
        super().__init__(config=_config(), **kwargs)
        self._standard_transforms = _transforms(self)

    def init_ipython_dir(self, ipython_dir):
        """A temporary folder in place of ~/.ipython."""
        self.ipython_dir = tempfile.mkdtemp(prefix="ipython-")

    def init_profile_dir(self, profile_dir):
        """The same folder."""
        self.profile_dir = ProfileDir(location=self.ipython_dir)

    def init_user_ns(self):
        """The names a cell can use from the start."""
        super().init_user_ns()
        exiter = Exiter()
        for name in ("exit", "quit"):
            self.user_ns[name] = self.user_ns_hidden[name] = exiter

    def system(self, cmd):
        """`!cmd`: exit code in `_exit_code`."""
        self.user_ns["_exit_code"] = commands.run(self.var_expand(cmd, depth=1))

    def getoutput(self, cmd, split=True, depth=0):
        """`x = !cmd`: the lines of the output, or with `split=False` its text."""
        output = commands.output(self.var_expand(cmd, depth=depth + 1))
        return SList(output.splitlines()) if split else LSString(output)

    def enable_matplotlib(self, gui=None):
        """`%matplotlib …`: the backend of the kernel, whatever is named."""
        figures.select_backend()
        return "inline", figures.BACKEND

    def ask_exit(self):
        """Ends the cell."""
        raise SystemExit

    def transform_fast(self, code: str):
        """Translates magics to Python. Returns (Python source, exception info of a failure or None).

        Source that is Python already is left alone: translating costs a pure-Python tokenizer run.
        """
        source = code if code.endswith("\n") else code + "\n"
        try:
            if _transforms(self) == self._standard_transforms and not self._may_be_magic(source):
                self.compile.parse_early(source)
                return source, None
        except Exception:
            # The way below is slower and reports what is wrong.
            pass
        try:
            return self.transform_cell(code), None
        except Exception:
            return code, sys.exc_info()

    def _may_be_magic(self, source: str) -> bool:
        line = source.strip()
        if "\n" in line:
            return False
        word = re.match(r"\w+", line)
        return word is not None and self.find_line_magic(word.group()) is not None

    async def run_ast_nodes(self, nodelist, cell_name, interactivity="last_expr", compiler=compile, result=None):
        """As in IPython, but all statements before a last expression are compiled and run as one.

        Where that does not compile, IPython's way reports it: statement by statement.
        """
        head = nodelist[:-1] if nodelist and isinstance(nodelist[-1], ast.Expr) else nodelist
        if interactivity == "last_expr" and len(head) > 1:
            code = self._compiled(head, cell_name, compiler)
            if code is not None:
                if await self.run_code(code, result, async_=bool(code.co_flags & inspect.CO_COROUTINE)):
                    return True
                nodelist = nodelist[len(head) :]
        return await super().run_ast_nodes(nodelist, cell_name, interactivity, compiler, result)

    def _compiled(self, nodes: list[ast.stmt], cell_name: str, compiler):
        try:
            with compiler.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if self.autoawait else 0):
                return compiler(ast.Module(nodes, []), cell_name, "exec")
        except Exception:
            return None

    def showtraceback(self, exc_tuple=None, filename=None, tb_offset=None, exception_only=False,
                      running_compiled_code=False):  # fmt: skip
        """Errors of the cell are in its result; errors of formatters are kept; others go to stderr."""
        error = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        if error is None or (self.cell_running and not exc_tuple):
            return
        if self.cell_running:
            self.format_errors.append(error)
        else:
            errors.report(error)

    def showsyntaxerror(self, filename=None, running_compiled_code=False):
        """As `showtraceback`."""
        self.showtraceback()

    def _format_exception_for_storage(self, exception, filename=None, running_compiled_code=False):
        return []


def _config() -> Config:
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor" if IPython.version_info[0] < 9 else "nocolor"
    config.InteractiveShell.display_page = True
    config.PlainTextFormatter.max_seq_length = 0
    return config


def _transforms(shell: InteractiveShell) -> tuple:
    manager = shell.input_transformer_manager
    return (
        list(manager.cleanup_transforms),
        list(manager.line_transforms),
        list(manager.token_transformers),
        list(shell.input_transformers_post),
    )


def silence_exit_hint() -> None:
    """Keeps IPython from advising how to leave a terminal when a cell calls sys.exit."""
    original = interactiveshell.warn

    def warn(message, *args, **kwargs):
        if "To exit:" not in str(message):
            original(message, *args, **kwargs)

    interactiveshell.warn = warn
