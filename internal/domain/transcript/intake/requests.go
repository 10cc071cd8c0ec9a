package intake

import (
	"cairn/internal/domain/transcript"
)

// requests collects model requests of traces. Each request repeats the messages before it, so the
// longest one of a conversation wins.
type requests struct {
	sink *Sink
	of   map[string]*talk
}

// put adds the messages of a request to a conversation: those of the session that begin with the
// same text of a user.
func (r *requests) put(key string, t *talk) {
	if len(t.Messages) == 0 {
		r.sink.skip("request without messages", 1)
		return
	}
	for _, m := range t.Messages {
		if m.Role == transcript.User {
			key += "\x00" + m.Content
			break
		}
	}
	if r.of == nil {
		r.of = map[string]*talk{}
	}
	known, found := r.of[key]
	switch {
	case !found:
		r.of[key] = t
		r.sink.all = append(r.sink.all, t)
	case len(t.Messages) >= len(known.Messages):
		r.sink.skip("shorter request", 1)
		*known = *t
	default:
		r.sink.skip("shorter request", 1)
	}
}

// draft returns a conversation that is not yet part of the result.
func (r *requests) draft(session string) *talk {
	t := &talk{sink: r.sink}
	t.Session = session
	return t
}

func liteLLM() Adapter {
	return Adapter{Name: "litellm", About: "logs of LiteLLM: requests with their responses",
		Keys: []string{"messages", "response", "choices", "call_type", "trace_id", "litellm_params", "response_cost"},
		claim: func(r record) (level, string) {
			if has(r, "messages") && hasAny(child(r, "response"), "choices") {
				return certain, "messages with a response"
			}
			if has(r, "messages", "response") && hasAny(r, "call_type", "litellm_call_id", "trace_id") {
				return certain, "messages with a response"
			}
			return foreign, ""
		}, read: readLiteLLM}
}

func readLiteLLM(s *JSONSource, k *Sink) error {
	r := &requests{sink: k}
	return s.Values(func(n JSONValue) error {
		o := n.Members()
		messages := o["messages"].Embedded()
		if !messages.IsArray() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
			k.skip("request without messages", 1)
			return nil
		}
		session := o.First("session_id", "litellm_session_id", "trace_id").Str()
		t := r.draft(session)
		t.model = o.Str("model")
		if err := readChatList(s, t, messages); err != nil {
			return err
		}
		for _, choice := range o["response"].Embedded().Get("choices").Items() {
			if err := readOne(s, t, choice.Get("message")); err != nil {
				return err
			}
			break
		}
		if session == "" {
			session = o.Str("id")
		}
		r.put(session, t)
		return nil
	})
}

// readOne reads a chat message in which the role of a reply may be missing.
func readOne(s *JSONSource, t *talk, n JSONValue) error {
	if !n.IsObject() {
		return nil
	}
	o := n.Members()
	if o["role"].Absent() {
		o["role"] = n.With(`"assistant"`)
	}
	return readChatMessage(s, t, n, o)
}

func langfuse() Adapter {
	return Adapter{Name: "langfuse", About: "Langfuse traces with observations",
		Keys: []string{"observations", "scores", "sessionId", "traceId", "parentObservationId", "startTime"},
		claim: func(r record) (level, string) {
			if list(r, "observations") != nil {
				return certain, "traces with observations"
			}
			if has(r, "traceId", "type", "startTime") && hasAny(r, "input", "output") {
				return certain, "observations"
			}
			return foreign, ""
		}, read: readLangfuse}
}

func readLangfuse(s *JSONSource, k *Sink) error {
	r := &requests{sink: k}
	return s.Values(func(n JSONValue) error {
		o := n.Members()
		if list := o["observations"]; list.IsArray() {
			k.skip("score", o["scores"].Count())
			for _, observation := range list.Items() {
				if err := readObservation(s, r, observation, compare(o.Str("sessionId"), o.Str("id"))); err != nil {
					return err
				}
			}
			return nil
		}
		if o["type"].Absent() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
		}
		return readObservation(s, r, n, compare(o.Str("sessionId"), o.Str("traceId")))
	})
}

func readObservation(s *JSONSource, r *requests, n JSONValue, session string) error {
	o := n.Members()
	if kind := o.Str("type"); kind != "GENERATION" {
		r.sink.skip(compare(kind, "observation"), 1)
		return nil
	}
	t := r.draft(session)
	t.model = o.Str("model")
	input, output := o["input"].Embedded(), o["output"].Embedded()
	if messages := input.Get("messages"); messages.IsArray() {
		input = messages
	}
	switch {
	case input.IsArray():
		if err := readChatList(s, t, input); err != nil {
			return err
		}
	case !input.Absent():
		t.add(transcript.Message{Role: transcript.User, Content: input.Text()}, input)
	}
	for _, choice := range output.Get("choices").Items() {
		output = choice.Get("message")
		break
	}
	if output.IsArray() {
		for _, m := range output.Items() {
			output = m
		}
	}
	at := clock(o, "endTime", "startTime")
	if output.IsObject() && (!output.Get("content").Absent() || !output.Get("tool_calls").Absent()) {
		if err := readOne(s, t, output); err != nil {
			return err
		}
		t.Messages[len(t.Messages)-1].Time = at
	} else if !output.Absent() {
		t.add(transcript.Message{Role: transcript.Assistant, Content: output.Text(), Time: at}, output)
	}
	r.put(session, t)
	return nil
}
