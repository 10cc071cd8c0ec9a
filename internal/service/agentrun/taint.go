package agentrun

import (
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// tainted tells that untrusted text has entered the window of a run: what it
// writes then waits for a person, and is marked. What people say is their word;
// what tools bring in is nobody's, and an instruction in it is an attack.
func (st *runState) tainted() bool {
	if st.spec.Tainted || st.turn.Tainted || st.run.Kind != run.Turn {
		return st.spec.Tainted || st.turn.Tainted
	}
	for _, m := range st.earlier {
		if m.Role == transcript.Tool && st.foreign(m.Name) && attacks(m.Content) {
			return true
		}
	}
	for _, s := range st.steps {
		for _, c := range s.Calls {
			if c.Done && (st.foreign(c.Tool) && attacks(c.Result) || strings.Contains(c.Result, markTainted)) {
				return true
			}
		}
	}
	return false
}

// markTainted stands in the results of our own tools that show what untrusted text
// had a part in. Inside of a text it would have backslashes.
const markTainted = `"tainted":true`

// foreign tells that a tool brings in what we have not kept: one of a gateway's own
// agent, or a program. What ours show was scanned when it was kept, and is again
// when it is shown.
func (st *runState) foreign(tool string) bool {
	specs := st.tools.Offered(st.spec.Origin, tool)
	return len(specs) != 1 || specs[0].Class == agent.Isolated
}

func attacks(text string) bool { return len(guard.Scan(text, guard.Context)) > 0 }
