package approval

import "time"

// Learned is a change of the memory skills of a bank that passes its gate, and waits because too few
// have voted.
type Learned struct {
	Bank      string
	BankID    int64
	Number    int // of the change, among those of the bank
	Base      int // version of the bank that it is based on
	Run       string
	Summary   string
	Reason    string // why it waits
	Lines     string // what it changes, and its comparisons
	SHA       string // identifies its content
	CreatedAt time.Time
}
