"""Network: checked addresses, and connections to them.

`addresses` normalises, resolves and judges addresses, and `connections` reaches no other ones.
"""
