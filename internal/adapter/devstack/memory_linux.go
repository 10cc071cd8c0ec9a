package devstack

import "syscall"

// inMemory is the folder where Linux keeps files in memory. Each test database has some hundred
// files. On a disk, creating them just after as many were deleted takes more time than all queries
// of the test.
const inMemory = "/dev/shm"

// roomInMemory is the free space in bytes that inMemory must have: a container has 64 MB by
// default.
const roomInMemory = 4 << 30

// throwAwayFolder returns the folder for throw-away data. It is not os.TempDir, whose path can be
// too long for a socket or closed to other accounts.
func throwAwayFolder() string {
	var room syscall.Statfs_t
	if err := syscall.Statfs(inMemory, &room); err == nil && room.Bavail*uint64(room.Bsize) >= roomInMemory {
		return inMemory
	}
	return "/tmp"
}
