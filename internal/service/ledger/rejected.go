package ledger

import (
	"log/slog"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
)

// HTTP statuses of a request that the endpoint could not read.
const (
	badRequest    = 400
	unprocessable = 422
)

// logRejected logs a request that its endpoint calls bad, with the hashes of
// its system message's sections: some endpoints turn a prompt down for its
// wording, and by comparing hashes with those of a request that went through one
// sees which part it is. The text itself stays in the ledger's row.
func (l *Ledger) logRejected(w CallRequest, failed *llm.Error) {
	if l.Log == nil || failed.Status != badRequest && failed.Status != unprocessable {
		return
	}
	var sections []any
	for _, s := range prompt.Sections(w.Asked.System) {
		sections = append(sections, slog.String(s.Name, s.Hash))
	}
	l.Log.Warn("a model endpoint turned a request down", "status", failed.Status, "class", failed.Class, "workspace",
		w.Key.Workspace, "run", w.Key.Run, "step", w.Key.Step,
		"stage", w.Asked.Label.Stage, "model", w.Asked.Model, "system", prompt.Hash(w.Asked.System),
		slog.Group("sections", sections...),
		"tools", len(w.Asked.Tools), "messages", len(w.Asked.Messages))
}
