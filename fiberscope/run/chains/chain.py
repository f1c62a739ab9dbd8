"""Parser of chains of products, such as ``Y = A X; Z = Y W``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from fiberscope.base.errors import InputError

# A name, ``=``, and at least two factors, separated by ``*``, ``@`` or blanks.
_PRODUCT = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([A-Za-z_]\w*(?:(?:\s*[*@]\s*|\s+)[A-Za-z_]\w*)+)\s*")
_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class Product:
    """A product of two named matrices.

    Args:
        name: the name of the result.
        left, right: the names of the factors: operands, or results of earlier products.
    """

    name: str
    left: str
    right: str

    def __str__(self) -> str:
        """Return the product as text, ``Y = A X``."""
        return f"{self.name} = {self.left} {self.right}"


@dataclass(frozen=True)
class Chain:
    """Products in order of computation; a product may use the results of earlier products.

    Args:
        products: the products. ``parse`` checks their names, the constructor does not.
    """

    products: tuple[Product, ...]

    @classmethod
    def parse(cls, text: str) -> Chain:
        """Parse a chain such as ``Y = A X; Z = Y W``; longer products are multiplied from the left.

        Raises:
            InputError: there is no product, a part is no product, or a name is written twice or used too
                early.
        """
        products: list[Product] = []
        for part in filter(str.strip, text.split(";")):  # a ``;`` at the end is allowed
            match = _PRODUCT.fullmatch(part)
            if match is None:
                advice = "give a name to a product of two factors or more"
                raise InputError(f"--chain: {part.strip()!r} is no product; {advice}, as in Y = A X")
            products += _split_products(match[1], _NAME.findall(match[2]))
        if not products:
            raise InputError("--chain is empty; write products as in Y = A X; Z = Y W")
        chain = cls(tuple(products))
        chain._check()
        return chain

    def _check(self) -> None:
        """Refuse a name that is written twice, or used before or in its own product.

        Raises:
            InputError: there is such a name.
        """
        written: set[str] = set()
        for product in self.products:
            if product.name in written:
                raise InputError(f"--chain: {product.name} is defined twice; give the second another name")
            # A name that is used before its product counts as an operand.
            if product.name in self.operands:
                raise InputError(f"--chain: {product.name} is used before it is defined, in {product}")
            written.add(product.name)

    def __str__(self) -> str:
        """Return the chain as text, ``Y = A X; Z = Y W``."""
        return "; ".join(map(str, self.products))

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """Return the names of the operands, in the order of their first use."""
        written: set[str] = set()
        needed: dict[str, None] = {}
        for product in self.products:
            needed |= dict.fromkeys(name for name in (product.left, product.right) if name not in written)
            written.add(product.name)
        return tuple(needed)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all matrices, operands first."""
        return (*self.operands, *(product.name for product in self.products))

    def uses(self, name: str, after: int) -> bool:
        """Return whether a product after number ``after``, from 0, has a factor of this name."""
        return any(name in (product.left, product.right) for product in self.products[after + 1 :])

    @property
    def intermediates(self) -> tuple[str, ...]:
        """Return the names of products that a later product uses."""
        return tuple(
            product.name for number, product in enumerate(self.products) if self.uses(product.name, number)
        )

    @property
    def results(self) -> tuple[str, ...]:
        """Return the names of products that no later product uses."""
        return tuple(
            product.name
            for number, product in enumerate(self.products)
            if not self.uses(product.name, number)
        )


def _split_products(name: str, factors: Sequence[str]) -> Iterator[Product]:
    """Split a product of several factors into products of two, multiplied from the left.

    An intermediate product is named by its factors: ``Z = A B C`` gives ``A B`` and ``Z``. The blank in its
    name tells it from all names that a user can write.
    """
    left = factors[0]
    for number, right in enumerate(factors[1:], start=2):
        result = name if number == len(factors) else " ".join(factors[:number])
        yield Product(result, left, right)
        left = result
