package agentrun

import (
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// tainted reports whether untrusted text has entered the prompt of the run. Writes of a tainted run
// are marked and need approval. User messages are trusted. Tool results are not, and instructions
// in them are treated as attacks.
func (st *runState) tainted() bool {
	if st.spec.Tainted || st.turn.Tainted || st.run.Kind != run.Turn {
		return st.spec.Tainted || st.turn.Tainted
	}
	if len(st.images(false)) > 0 { // an image can show instructions
		return true
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

// markTainted appears in results of Cairn's own tools that show tainted content. Inside a JSON
// string its quotes would be escaped.
const markTainted = `"tainted":true`

// foreign reports whether a tool returns content that Cairn does not store: tools of an observed
// agent, and programs. Content of Cairn's own tools is scanned when it is stored and when it is
// shown.
func (st *runState) foreign(tool string) bool {
	specs := st.tools.Offered(st.spec.Origin, tool)
	return len(specs) != 1 || specs[0].Class == agent.Isolated
}

func attacks(text string) bool { return len(guard.Scan(text, guard.Context)) > 0 }
