package devstack

import "syscall"

// inMemory is where Linux keeps files in memory: each test's database is some
// hundred files, and making them where as many have just been deleted costs a
// disk's file system more time than all queries of the test.
const inMemory = "/dev/shm"

// roomInMemory is what must be free there: a container has 64 MB by default.
const roomInMemory = 4 << 30

// throwAwayFolder is where throw-away data goes. It is not os.TempDir, which can
// be too long for a socket or closed to others.
func throwAwayFolder() string {
	var room syscall.Statfs_t
	if err := syscall.Statfs(inMemory, &room); err == nil && room.Bavail*uint64(room.Bsize) >= roomInMemory {
		return inMemory
	}
	return "/tmp"
}
