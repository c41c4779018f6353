"""The build of the package: `one_package` makes a wheel with one package at its top."""
