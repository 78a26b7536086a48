"""Target -> Plan -> Compiled: what every target shares."""
