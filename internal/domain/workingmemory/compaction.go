package workingmemory

// Compaction is the record at the start of a conversation's requests.
type Compaction struct {
	Conversation int64
	Upto         int // last turn that it covers
	Run          string
	Content      string
	Tokens       int
	Degraded     string // why no model has created it; empty if one has
}
