package relay

// packages is the number of packages, erasures or workspaces that a pass of Recover or Clean handles.
const packages = 50
