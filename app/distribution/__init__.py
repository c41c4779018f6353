"""How the package is built: `one_package` makes a wheel with one package at its top."""
