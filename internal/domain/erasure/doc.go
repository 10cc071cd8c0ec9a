// Package erasure has what an erasure deletes, keeps and leaves as a tombstone.
package erasure
