package ledger

import (
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/modelcall"
	"cairn/internal/domain/prompt"
)

// conceal logs the endpoint's text for operators and returns the error that tenants may see. Secrets
// in the text are replaced, because an endpoint can quote the request.
func (l *Ledger) conceal(w modelcall.Request, failed *llm.Error) error {
	id := "err_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:16]
	shown := failed.Conceal(id)
	if l.Log == nil || shown == failed {
		return shown
	}
	text, _ := guard.NewRedactor(guard.Options{Emails: true}).Redact(failed.Message)
	l.Log.Warn("model call failed", "error_id", id, "status", failed.Status, "class", failed.Class, "workspace",
		w.Key.Workspace, "run", w.Key.Run, "step", w.Key.Step, "model", w.Asked.Model, "error", text)
	return shown
}

// HTTP statuses of an invalid request.
const (
	badRequest    = 400
	unprocessable = 422
)

// logRejected logs a request that the endpoint rejects as invalid, with a hash of each section of
// its system message. Some endpoints reject a prompt because of its wording; comparing the hashes
// with those of an accepted request shows which section it is. The text itself is only in the
// ledger.
func (l *Ledger) logRejected(w modelcall.Request, failed *llm.Error) {
	if l.Log == nil || failed.Status != badRequest && failed.Status != unprocessable {
		return
	}
	var sections []any
	for _, s := range prompt.Sections(w.Asked.System) {
		sections = append(sections, slog.String(s.Name, s.Hash))
	}
	l.Log.Warn("model request rejected", "status", failed.Status, "class", failed.Class, "workspace",
		w.Key.Workspace, "run", w.Key.Run, "step", w.Key.Step,
		"stage", w.Asked.Label.Stage, "model", w.Asked.Model, "system", prompt.Hash(w.Asked.System),
		slog.Group("sections", sections...),
		"tools", len(w.Asked.Tools), "messages", len(w.Asked.Messages))
}
