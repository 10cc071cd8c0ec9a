package intake

import "cairn/internal/domain/transcript"

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

func readLiteLLM(s *Source, k *Sink) error {
	r := &requests{sink: k}
	return s.values(func(n node) error {
		o := n.members()
		messages := o["messages"].embedded()
		if !messages.isArray() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
			k.skip("request without messages", 1)
			return nil
		}
		session := o.first("session_id", "litellm_session_id", "trace_id").str()
		t := r.draft(session)
		t.model = o.str("model")
		if err := readChatList(s, t, messages); err != nil {
			return err
		}
		for _, choice := range o["response"].embedded().get("choices").items() {
			if err := readOne(s, t, choice.get("message")); err != nil {
				return err
			}
			break
		}
		if session == "" {
			session = o.str("id")
		}
		r.put(session, t)
		return nil
	})
}

// readOne reads a chat message in which the role of a reply may be missing.
func readOne(s *Source, t *talk, n node) error {
	if !n.isObject() {
		return nil
	}
	o := n.members()
	if o["role"].absent() {
		o["role"] = node{n.chunk, []byte(`"assistant"`), n.at, n.ptr}
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

func readLangfuse(s *Source, k *Sink) error {
	r := &requests{sink: k}
	return s.values(func(n node) error {
		o := n.members()
		if list := o["observations"]; list.isArray() {
			k.skip("score", o["scores"].count())
			for _, observation := range list.items() {
				if err := readObservation(s, r, observation, cmp(o.str("sessionId"), o.str("id"))); err != nil {
					return err
				}
			}
			return nil
		}
		if o["type"].absent() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
		}
		return readObservation(s, r, n, cmp(o.str("sessionId"), o.str("traceId")))
	})
}

func readObservation(s *Source, r *requests, n node, session string) error {
	o := n.members()
	if kind := o.str("type"); kind != "GENERATION" {
		r.sink.skip(cmp(kind, "observation"), 1)
		return nil
	}
	t := r.draft(session)
	t.model = o.str("model")
	input, output := o["input"].embedded(), o["output"].embedded()
	if messages := input.get("messages"); messages.isArray() {
		input = messages
	}
	switch {
	case input.isArray():
		if err := readChatList(s, t, input); err != nil {
			return err
		}
	case !input.absent():
		t.add(transcript.Message{Role: transcript.User, Content: input.text()}, input)
	}
	for _, choice := range output.get("choices").items() {
		output = choice.get("message")
		break
	}
	if output.isArray() {
		for _, m := range output.items() {
			output = m
		}
	}
	at := clock(o, "endTime", "startTime")
	if output.isObject() && (!output.get("content").absent() || !output.get("tool_calls").absent()) {
		if err := readOne(s, t, output); err != nil {
			return err
		}
		t.Messages[len(t.Messages)-1].Time = at
	} else if !output.absent() {
		t.add(transcript.Message{Role: transcript.Assistant, Content: output.text(), Time: at}, output)
	}
	r.put(session, t)
	return nil
}
