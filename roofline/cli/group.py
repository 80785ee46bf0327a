"""A group of commands that answers a mistyped name with the near ones."""

import click

from roofline.errors import near


class Named(click.Group):
    """A group whose mistakes are sentences that say what there is."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; a name that is none ends here."""
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known:
            ctx.fail(f"no command {args[0]!r}; there is {', '.join(near(args[0], known) or known)}")
        return super().resolve_command(ctx, args)
