"""The head families: exact, gate, table (uniform, grouped and graded keys), printed; and how they become a network."""
