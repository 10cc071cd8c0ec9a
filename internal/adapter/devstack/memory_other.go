//go:build !linux

package devstack

// throwAwayFolder is where throw-away data goes. It is not os.TempDir, which can
// be too long for a socket or closed to others.
func throwAwayFolder() string { return "/tmp" }
