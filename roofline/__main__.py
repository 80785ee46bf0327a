"""``python -m roofline``."""

from roofline.cli import main

raise SystemExit(main())
