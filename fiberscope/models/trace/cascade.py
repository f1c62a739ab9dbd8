"""Reader of the section ``einsum`` of a specification, with checks against its declaration."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from fiberscope.accelerators.yaml_document import Document, Path
from fiberscope.models.trace.program import BUILT_IN, REDUCTIONS
from fiberscope.models.trace.schema import EinsumSchema
from fiberscope.models.trace.specification import OPERATORS, Function, Iteration
from fiberscope.workloads.errors import suggest
from fiberscope.workloads.expressions.expression import (
    Access,
    Alias,
    Call,
    Equation,
    Expression,
    Operation,
    Statement,
    Take,
    accesses,
    iterate_operators,
    iterate_scalars,
    reduces,
)
from fiberscope.workloads.expressions.grammar import UnreadableTextError, parse_function, parse_statement


@dataclass(frozen=True)
class Cascade:
    """The computation of a specification.

    Args:
        declared: the ranks of each tensor.
        statements: by name of the Einsum, in order, each with its path in the document.
        operators: the functions for ``*``, ``+`` and ``-`` of each Einsum, defaults included.
        functions: functions of the specification, by name.
        empty: the value that each tensor does not store.
        shapes: shapes of ranks, by rank.
        iteration: the iteration of the cascade; None if the cascade runs once.
    """

    declared: Mapping[str, tuple[str, ...]]
    statements: Mapping[str, tuple[Statement, Path]]
    operators: Mapping[str, Mapping[str, str]]
    functions: Mapping[str, Function]
    empty: Mapping[str, float]
    shapes: Mapping[str, int]
    iteration: Iteration | None

    @property
    def last_output(self) -> str:
        """Return the output of the last Einsum."""
        return _find_output(list(self.statements.values())[-1][0])


def read_cascade(schema: EinsumSchema, symbols: Collection[str], document: Document) -> Cascade:
    """Return the cascade of a section ``einsum``.

    Args:
        schema: the section.
        symbols: names that may stand for numbers in expressions.
        document: the file, for the positions in messages.

    Raises:
        ConfigurationError: the section is inconsistent.
    """
    reader = _Reader(schema, symbols, document)
    declared = reader.declared()
    functions = reader.functions()
    statements = reader.read_statements(declared, functions)
    operators = reader.operators(statements, functions)
    iteration = reader.read_iteration(declared, statements)
    empty = reader.read_empty_values(declared, statements, operators, iteration)
    return Cascade(declared, statements, operators, functions, empty, reader.read_shapes(declared), iteration)


@dataclass(frozen=True)
class _Reader:
    """Checks and conversion of a section ``einsum``, part by part; each error names its position."""

    schema: EinsumSchema
    symbols: Collection[str]
    document: Document

    def declared(self) -> dict[str, tuple[str, ...]]:
        """Return the declared ranks of each tensor; ranks are in upper case, and distinct in a tensor."""
        for tensor, ranks in self.schema.declaration.items():
            path = ("einsum", "declaration", tensor)
            _refuse_names(self.document, path, [tensor], key=True)
            _refuse_names(self.document, path, ranks)
            for rank in ranks:
                if rank != rank.upper():
                    raise self.document.error(path, f"rank {rank} of {tensor}: write it as {rank.upper()}")
            if len(set(ranks)) < len(ranks):
                raise self.document.error(path, f"{tensor} has a rank twice; a square one is [I, J], say")
        return {tensor: tuple(ranks) for tensor, ranks in self.schema.declaration.items()}

    def read_shapes(self, declared: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
        """Return the shapes of the section, whose ranks are declared or occur in an expression."""
        all_ranks = {rank for ranks in declared.values() for rank in ranks}
        all_ranks |= {
            rank for statement, _path in self._parse_expressions() for rank in _list_ranks(statement)
        }
        for rank in self.schema.shape:
            if rank not in all_ranks:
                path = ("einsum", "shape", rank)
                raise self.document.error(
                    path, f"there is no rank {rank}; {suggest(rank, all_ranks)}", key=True
                )
        return dict(self.schema.shape)

    def functions(self) -> dict[str, Function]:
        """Return the functions by name; a function may call earlier functions only, so none is recursive."""
        functions: dict[str, Function] = {}
        for signature, body in self.schema.functions.items():
            path = ("einsum", "functions", signature)
            function = self._read_function(signature, body, path)
            available = {**BUILT_IN, **functions}
            if function.name in {*available, "take"}:
                raise self.document.error(path, f"there is already a function {function.name}", key=True)
            self._check_body(function, functions, path)
            functions[function.name] = function
        return functions

    def _read_function(self, signature: str, body: str, path: Path) -> Function:
        try:
            name, arguments, expression = parse_function(signature, body)
        except UnreadableTextError as error:
            raise self.document.error(path, f"{signature}: {body}: {error}", offset=error.column) from error
        return Function(name, arguments, expression)

    def _check_body(self, function: Function, available: Mapping[str, Function], path: Path) -> None:
        """Check that a body has no tensors, only its arguments and symbols, and calls available functions."""
        for access in accesses(function.body):  # any tensor is an error
            raise self.document.error(
                path, f"{function.name} reads tensor {access.tensor}; make it an argument"
            )
        for scalar in iterate_scalars(function.body):
            if scalar.name not in {*function.arguments, *self.symbols}:
                advice = suggest(scalar.name, {*function.arguments, *self.symbols})
                raise self.document.error(path, f"{function.name} has no argument {scalar.name}; {advice}")
        self._check_calls(function.body, available, path)

    def _parse_expressions(self) -> Iterator[tuple[Statement, Path]]:
        for position, text in enumerate(self.schema.expressions):
            path = ("einsum", "expressions", position)
            try:
                yield replace(parse_statement(text), text=" ".join(text.split())), path
            except UnreadableTextError as error:
                raise self.document.error(path, f"{text}: {error}", offset=error.column) from error

    def read_statements(
        self, declared: Mapping[str, tuple[str, ...]], functions: Mapping[str, Function]
    ) -> dict[str, tuple[Statement, Path]]:
        """Return the checked statements by name: the output, and for its second Einsum ``Z@2``."""
        statements: dict[str, tuple[Statement, Path]] = {}
        outputs: dict[str, int] = {}
        for statement, path in self._parse_expressions():
            self._check_statement(statement, declared, functions, path)
            output = statement.output if isinstance(statement, Alias) else statement.output.tensor
            outputs[output] = outputs.get(output, 0) + 1
            name = output if outputs[output] == 1 else f"{output}@{outputs[output]}"
            statements[name] = (statement, path)
        return statements

    def _check_statement(
        self,
        statement: Statement,
        declared: Mapping[str, tuple[str, ...]],
        functions: Mapping[str, Function],
        path: Path,
    ) -> None:
        """Check the tensors, indices, symbols and functions of a statement."""
        if isinstance(statement, Alias):
            self._check_alias(statement, declared, path)
            return
        inputs = list(accesses(statement.expression))
        for access in (statement.output, *inputs):
            self._check_access(access, declared, statement.text, path)
        for index in statement.output.indices:
            if index.rank is None:
                raise self._statement_error(
                    path, statement.text, "an index of the output should be a single rank"
                )
        self._check_terms(statement, path)
        for scalar in iterate_scalars(statement.expression):
            name = scalar.name
            if name in declared:
                indices = ", ".join(rank.lower() for rank in declared[name])
                raise self._statement_error(
                    path, statement.text, f"{name} is a tensor; write {name}[{indices}]"
                )
            if name not in self.symbols:
                advice = suggest(name, {*self.symbols, *declared})
                raise self._statement_error(path, statement.text, f"there is no symbol {name}; {advice}")
        self._check_calls(statement.expression, functions, path)

    def _check_alias(self, alias: Alias, declared: Mapping[str, tuple[str, ...]], path: Path) -> None:
        for tensor in (alias.output, alias.source):
            self._check_tensor(tensor, declared, alias.text, path)
        fault = _describe_rank_difference(alias.output, alias.source, declared)
        if fault:
            raise self._statement_error(path, alias.text, fault)

    def _check_tensor(
        self, tensor: str, declared: Mapping[str, tuple[str, ...]], text: str, path: Path
    ) -> None:
        if tensor not in declared:
            raise self._statement_error(path, text, f"{tensor} is not declared; {suggest(tensor, declared)}")

    def _check_access(
        self, access: Access, declared: Mapping[str, tuple[str, ...]], text: str, path: Path
    ) -> None:
        self._check_tensor(access.tensor, declared, text, path)
        ranks = declared[access.tensor]
        if len(ranks) != len(access.indices):
            correction = f"{access.tensor}[{', '.join(rank.lower() for rank in ranks)}]"
            fault = f"{access.tensor} has {len(ranks)} ranks, {len(access.indices)} given; {correction}?"
            raise self._statement_error(path, text, fault)

    def _check_terms(self, statement: Equation, path: Path) -> None:
        """Check that each term of a sum, a difference or a function has all ranks of the expression."""
        # a term that lacks a rank has a value at every coordinate of the rank, stored or not
        statement_ranks = {rank for access in accesses(statement.expression) for rank in access.ranks}
        for term in _split_terms(statement.expression):
            ranks = {rank for access in accesses(term) for rank in access.ranks}
            if ranks and ranks != statement_ranks:
                missing = " and ".join(sorted(statement_ranks - ranks))
                raise self._statement_error(
                    path, statement.text, f"a term lacks {missing}; each needs every rank"
                )
            if not ranks and statement_ranks:
                raise self._statement_error(
                    path,
                    statement.text,
                    "a term without a tensor has a value at every point; put it into a function",
                )

    def _check_calls(self, expression: Expression, functions: Mapping[str, Function], path: Path) -> None:
        for call in _find_calls(expression):
            arity = _find_arity(call.function, functions)
            if arity is None:
                advice = suggest(call.function, {*BUILT_IN, *functions, "take"})
                raise self.document.error(path, f"there is no function {call.function}; {advice}")
            if arity != len(call.operands):
                raise self.document.error(
                    path, f"{call.function} takes {arity} arguments, {len(call.operands)} given"
                )

    def operators(
        self, statements: Mapping[str, tuple[Statement, Path]], functions: Mapping[str, Function]
    ) -> dict[str, Mapping[str, str]]:
        """Return the checked functions of ``*``, ``+`` and ``-`` by Einsum, with defaults."""
        for name, changes in self.schema.operators.items():
            path: Path = ("einsum", "operators", name)
            if name not in statements:
                message = f"there is no Einsum {name}; {suggest(name, statements)}"
                raise self.document.error(path, message, key=True)
            for operator, function in changes.items():
                self._check_operator(operator, function, functions, (*path, operator))
            statement = statements[name][0]
            function = changes.get("+", OPERATORS["+"])
            if function not in REDUCTIONS and isinstance(statement, Equation) and reduces(statement):
                message = f"{function} cannot reduce, as its result may depend on the order of the points"
                raise self.document.error((*path, "+"), f"{message}; known: {', '.join(REDUCTIONS)}")
        return {name: {**OPERATORS, **self.schema.operators.get(name, {})} for name in statements}

    def _check_operator(
        self, operator: str, function: str, functions: Mapping[str, Function], path: Path
    ) -> None:
        if operator not in OPERATORS:
            raise self.document.error(path, f"{operator} is no operator; known: *, +, -", key=True)
        if _find_arity(function, functions) != 2:
            binary = [name for name in (*BUILT_IN, *functions) if _find_arity(name, functions) == 2]
            raise self.document.error(path, f"{function} is no function of two; {suggest(function, binary)}")

    def read_iteration(
        self, declared: Mapping[str, tuple[str, ...]], statements: Mapping[str, tuple[Statement, Path]]
    ) -> Iteration | None:
        """Return the checked iteration; None if the cascade runs once."""
        iterate = self.schema.iterate
        if iterate is None:
            return None
        outputs = {_find_output(statement) for statement, _path in statements.values()}
        for target, source in iterate.carry.items():
            path: Path = ("einsum", "iterate", "carry", target)
            if target not in declared:
                message = f"{target} is not declared; {suggest(target, declared)}"
                raise self.document.error(path, message, key=True)
            if source not in outputs:
                raise self.document.error(path, f"no Einsum makes {source}; {suggest(source, outputs)}")
            fault = _describe_rank_difference(target, source, declared)
            if fault:
                raise self.document.error(path, fault)
        if iterate.until_empty is not None and iterate.until_empty not in outputs:
            path = ("einsum", "iterate", "until-empty")
            raise self.document.error(
                path, f"no Einsum makes {iterate.until_empty}; {suggest(iterate.until_empty, outputs)}"
            )
        return Iteration(dict(iterate.carry), iterate.until_empty, iterate.limit)

    def read_empty_values(
        self,
        declared: Mapping[str, tuple[str, ...]],
        statements: Mapping[str, tuple[Statement, Path]],
        operators: Mapping[str, Mapping[str, str]],
        iteration: Iteration | None,
    ) -> dict[str, float]:
        """Return the value that each tensor does not store; ``carry`` passes it on, ``empty`` sets it."""
        for tensor in self.schema.empty:
            if tensor not in declared:
                message = f"{tensor} is not declared; {suggest(tensor, declared)}"
                raise self.document.error(("einsum", "empty", tensor), message, key=True)
        values = dict.fromkeys(declared, 0.0)
        carry = iteration.carry if iteration else {}
        # a value may depend on the values of all other tensors, by ``carry`` also of later Einsums
        for _pass in range(len(declared)):
            for name, (statement, _path) in statements.items():
                values[_find_output(statement)] = _choose_empty_value(statement, operators[name], values)
            values |= {target: values[source] for target, source in carry.items()}
            values |= self.schema.empty
        return values

    def _statement_error(self, path: Path, text: str, message: str) -> Exception:
        return self.document.error(path, f"{text}: {message}")


def _refuse_names(document: Document, path: Path, names: list[str], *, key: bool = False) -> None:
    for name in names:
        if not (name.isidentifier() and name.isascii()):
            raise document.error(path, f"{name!r} is no name: letters, digits and _ make one", key=key)


def _describe_rank_difference(left: str, right: str, declared: Mapping[str, tuple[str, ...]]) -> str:
    """Describe the difference between the ranks of two names of one tensor; empty if the ranks are equal."""
    if declared[left] == declared[right]:
        return ""
    ranks = [f"[{', '.join(declared[name])}]" for name in (left, right)]
    return f"{left} has the ranks {ranks[0]} and {right} {ranks[1]}; declare both alike"


def _find_output(statement: Statement) -> str:
    return statement.output if isinstance(statement, Alias) else statement.output.tensor


def _list_ranks(statement: Statement) -> set[str]:
    if isinstance(statement, Alias):
        return set()
    return {rank for access in (statement.output, *accesses(statement.expression)) for rank in access.ranks}


def _split_terms(expression: Expression) -> Iterator[Expression]:
    """Yield the operands of sums, differences and functions, down to products."""
    if isinstance(expression, Call) or (isinstance(expression, Operation) and expression.operator != "*"):
        for operand in expression.operands:
            yield from _split_terms(operand)
    else:
        yield expression


def _find_calls(expression: Expression) -> Iterator[Call]:
    if isinstance(expression, Call):
        yield expression
    if isinstance(expression, Operation | Take | Call):
        for operand in expression.operands:
            yield from _find_calls(operand)


def _find_arity(name: str, functions: Mapping[str, Function]) -> int | None:
    if name in BUILT_IN:
        return BUILT_IN[name].arguments
    return len(functions[name].arguments) if name in functions else None


def _choose_empty_value(
    statement: Statement, operators: Mapping[str, str], values: Mapping[str, float]
) -> float:
    """Return the value that an output does not store.

    The value is the neutral value of a redefined ``+``, or the value of a tensor that is copied, else 0.
    """
    if isinstance(statement, Alias):
        return values[statement.source]
    redefined = BUILT_IN.get(operators["+"])
    if redefined is not None and operators["+"] != OPERATORS["+"] and _computes_sum(statement):
        return 0.0 if redefined.neutral is None else redefined.neutral
    source = statement.expression
    while isinstance(source, Take):  # a take copies one of its operands
        source = source.operands[source.selected]
    return values[source.tensor] if isinstance(source, Access) else 0.0


def _computes_sum(statement: Equation) -> bool:
    """Return whether an Einsum computes ``+``: in its expression, or by reducing a rank."""
    ranks = {rank for access in accesses(statement.expression) for rank in access.ranks}
    return "+" in iterate_operators(statement.expression) or bool(ranks - set(statement.output.ranks))
