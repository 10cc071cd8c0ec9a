//go:build !linux

package devstack

// throwAwayFolder returns the folder for throw-away data. It is not os.TempDir, whose path can be
// too long for a socket or closed to other accounts.
func throwAwayFolder() string { return "/tmp" }
