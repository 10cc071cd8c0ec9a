package memory

// Filter chooses entries of long-term memory.
type Filter struct {
	Types       []Type
	Targets     []string // keys; empty for all
	Metadata    Metadata // members that an entry must have, with these values
	EveryStatus bool     // removed ones, too
	Newest      bool     // what was made last comes first
	After       int64    // row after which the list begins, in its order
	Limit       int
}
