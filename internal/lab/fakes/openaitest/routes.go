package openaitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"cairn/internal/domain/llm"
)

// statusUnmatched is the status for requests that match no rule.
const statusUnmatched = 599

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("POST /v1/embeddings", s.embeddings)
	mux.HandleFunc("POST /v1/audio/transcriptions", s.transcriptions)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("PUT /script", s.putScript)
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, s.Requests())
	})
	mux.HandleFunc("GET /paid", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, s.Paid()) })
	mux.HandleFunc("POST /barrier/{name}/release", func(w http.ResponseWriter, r *http.Request) {
		s.Release(r.PathValue("name"))
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func (s *Server) putScript(w http.ResponseWriter, r *http.Request) {
	var script Script
	decoder := json.NewDecoder(r.Body)
	if err := decoder.Decode(&script); err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	if err := s.Script(script); err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{
		map[string]any{"id": "scripted", "object": "model", "owned_by": "llmtest"},
		map[string]any{"id": "scripted-embedding", "object": "model", "owned_by": "llmtest"},
	}})
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	request, err := llm.ReadAsked(body)
	if err != nil {
		writeError(w, http.StatusBadRequest, "the request is not JSON: "+err.Error())
		return
	}
	call, rule, ok := s.record(newChat(r, body, request))
	if !ok {
		w.Header().Set("X-Should-Retry", "false")
		writeError(w, statusUnmatched, "llmtest: no rule matches this request")
		return
	}
	if !s.hold(r, rule, arrived) || fail(w, rule) {
		return
	}
	reply := rule.Reply
	if rule.ReplyFunc != nil {
		reply = rule.ReplyFunc(call)
	}
	answer := completion{call: call, rule: rule, request: request, text: reply, calls: rule.Calls}
	if rule.CallsFunc != nil {
		answer.calls = rule.CallsFunc(call)
	}
	switch {
	case request.Stream && (rule.Pace > 0 || rule.Events > 0):
		s.streamSlowly(w, r, answer)
		return
	case rule.DropAfter:
		answer.writeHalf(w)
		return
	}
	s.pay(call, 1) // before the last byte, so that a client that has the reply finds it counted
	if !answer.write(w) {
		s.pay(call, -1)
	}
}

// streamSlowly sends the events of a stream one by one, as the rule requires.
func (s *Server) streamSlowly(w http.ResponseWriter, r *http.Request, answer completion) {
	w.Header().Set("Content-Type", "text/event-stream")
	rule, control := answer.rule, http.NewResponseController(w)
	events := bytes.SplitAfter(bytes.TrimRight(answer.stream(), "\n"), []byte("\n\n"))
	for i, event := range events {
		if i > 0 && !s.pause(r, rule.Pace) {
			return
		}
		if rule.Events > 0 && i == rule.Events {
			if rule.DropAfter {
				cut(w)
				return
			}
			s.pause(r, time.Hour) // silent until the client has gone
			return
		}
		last := i == len(events)-1
		if last {
			s.pay(answer.call, 1) // before it is sent, as for other replies
			event = append(event, "\n\n"...)
		}
		if _, err := w.Write(event); err != nil || control.Flush() != nil {
			if last {
				s.pay(answer.call, -1)
			}
			return
		}
	}
}

// pause returns false if the client or the server has gone.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	case <-s.done:
		return false
	}
}

func (s *Server) pay(call Call, n int) {
	key := call.Key()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paid[key] += n
	if s.paid[key] == 0 {
		delete(s.paid, key)
	}
}

// record stores a call and chooses its rule.
func (s *Server) record(call Call) (Call, Rule, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call.Index = len(s.calls)
	rule, ok := choose(s.rules, call)
	call.Unknown = !ok && !call.embedding()
	s.calls = append(s.calls, call)
	s.notify()
	return call, rule, ok
}

// hold delays the response as the rule requires, from the time of arrival. It returns false if the
// client or the server has gone.
func (s *Server) hold(r *http.Request, rule Rule, arrived time.Time) bool {
	if rule.Barrier != "" {
		s.mu.Lock()
		gate := s.gate(rule.Barrier)
		s.waiting[rule.Barrier]++
		s.notify()
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.waiting[rule.Barrier]--
			s.mu.Unlock()
		}()
		select {
		case <-gate:
			arrived = time.Now()
		case <-r.Context().Done():
			return false
		case <-s.done:
			return false
		}
	}
	if rule.Delay > 0 && !s.pause(r, time.Until(arrived.Add(rule.Delay))) {
		return false
	}
	return r.Context().Err() == nil
}
