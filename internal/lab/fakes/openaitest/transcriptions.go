package openaitest

import (
	"io"
	"net/http"
	"time"
)

// maxRecording limits a recording in memory.
const maxRecording = 32 << 20

// transcriptions answers a recording with the reply of a rule. Last is the name of its file.
func (s *Server) transcriptions(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	file, head, err := r.FormFile("file")
	if err != nil || r.FormValue("model") == "" {
		writeError(w, http.StatusBadRequest, "a form with file and model is required")
		return
	}
	defer file.Close()
	recording, err := io.ReadAll(io.LimitReader(file, maxRecording))
	if err != nil {
		return // the client has disconnected
	}
	call := newCall(r, recording, head.Filename)
	if call.Stage == "" {
		call.Stage = stageTranscribe
	}
	call, rule, ok := s.record(call)
	if !ok {
		w.Header().Set("X-Should-Retry", "false")
		writeError(w, statusUnmatched, "llmtest: no rule matches this recording")
		return
	}
	if !s.hold(r, rule, arrived) || fail(w, rule) {
		return
	}
	text := rule.Reply
	if rule.ReplyFunc != nil {
		text = rule.ReplyFunc(call)
	}
	answer := mustJSON(map[string]any{"text": text,
		"usage": map[string]any{"type": "duration", "seconds": 2}})
	if rule.DropAfter {
		cutHalfway(w, "application/json", answer)
		return
	}
	s.pay(call, 1)
	if !writeBody(w, http.StatusOK, "application/json", answer) {
		s.pay(call, -1)
	}
}
