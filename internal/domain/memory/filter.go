package memory

// Filter selects entries of long-term memory.
type Filter struct {
	Types       []Type
	Targets     []string // keys of targets; empty for all
	Metadata    Metadata // members that an entry must have, with these values
	EveryStatus bool     // include removed entries
	Newest      bool     // order newest first
	After       int64    // row after which the list starts, in its order
	Limit       int

	Where  *Condition // what else must hold; nil for nothing
	Offset int        // entries that are skipped; only with Where
}
