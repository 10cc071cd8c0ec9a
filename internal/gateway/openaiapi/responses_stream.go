package openaiapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"cairn/internal/gateway/edge"
	"cairn/internal/service/completion"
)

// Numbers of the events before the text. The number of a text event is textEvents plus the bytes of the text up
// to its end, so that a stream which continues divides the text as it likes.
const textEvents = 3

// responseSink writes a stream of events of a response.
type responseSink struct {
	*turn
	events *edge.Stream
	form   responseForm
	opened bool
	said   strings.Builder
	number int // of the last event
}

// event is an event of a stream.
type event map[string]any

// open writes the first events.
func (s *responseSink) open() error {
	if s.opened {
		return nil
	}
	s.opened = true
	begun := s.form.begun(s.turn)
	if err := s.write(0, event{"type": "response.created", "response": begun}); err != nil {
		return err
	}
	return s.write(1, event{"type": "response.in_progress", "response": begun})
}

func (s *responseSink) text(part string) error {
	if err := s.open(); err != nil {
		return err
	}
	if s.said.Len() == 0 {
		if err := s.openText(); err != nil {
			return err
		}
	}
	known := s.form.first - 1 - textEvents - s.said.Len() // bytes of the part that the client has
	s.said.WriteString(part)
	if known > 0 {
		for known < len(part) && !utf8.RuneStart(part[known]) {
			known++
		}
		part = part[min(known, len(part)):]
	}
	return s.write(textEvents+s.said.Len(), s.inText(event{"type": "response.output_text.delta", "delta": part,
		"logprobs": []any{}}))
}

// openText writes the events that begin the text.
func (s *responseSink) openText() error {
	err := s.write(textEvents-1, event{"type": "response.output_item.added", "output_index": 0,
		"item": messageOf(s.id(), "", inProgress)})
	if err == nil {
		err = s.write(textEvents, s.inText(event{"type": "response.content_part.added", "part": textPart("")}))
	}
	return err
}

func (s *responseSink) id() string { return strings.TrimPrefix(s.Ref().Run, runPrefix) }

// inText adds the place of the text to an event.
func (s *responseSink) inText(e event) event {
	e["item_id"], e["output_index"], e["content_index"] = "msg_"+s.id(), 0, 0
	return e
}

func (s *responseSink) end(r completion.Reply) error {
	if err := s.open(); err != nil {
		return err
	}
	whole := s.form.ended(s.turn, r)
	if len(r.Calls) == 0 && s.said.Len() == 0 { // an empty text
		if err := s.openText(); err != nil {
			return err
		}
	}
	for i, item := range whole.Output {
		var err error
		switch item := item.(type) {
		case outputMessage:
			err = s.endText(item)
		case outputCall:
			err = s.call(i, item)
		}
		if err != nil {
			return err
		}
	}
	kind := "response.completed"
	if whole.Status != completed {
		kind = "response.incomplete"
	}
	if err := s.next(event{"type": kind, "response": whole}); err != nil || s.events.Begun() {
		return err
	}
	if s.form.first > s.number+1 { // the client has more than the whole reply
		return errReplaced
	}
	return s.events.Comment("still there") // the client has everything
}

// endText writes the events that end the text.
func (s *responseSink) endText(m outputMessage) error {
	text := m.Content[0]
	for _, e := range []event{
		s.inText(event{"type": "response.output_text.done", "text": text.Text, "logprobs": []any{}}),
		s.inText(event{"type": "response.content_part.done", "part": text}),
		{"type": "response.output_item.done", "output_index": 0, "item": m},
	} {
		if err := s.next(e); err != nil {
			return err
		}
	}
	return nil
}

// call writes the events of a call.
func (s *responseSink) call(at int, made outputCall) error {
	begun := made
	begun.Status, begun.Arguments = inProgress, ""
	for _, e := range []event{
		{"type": "response.output_item.added", "item": begun},
		{"type": "response.function_call_arguments.delta", "item_id": made.ID, "delta": made.Arguments},
		{"type": "response.function_call_arguments.done", "item_id": made.ID, "name": made.Name,
			"arguments": made.Arguments},
		{"type": "response.output_item.done", "item": made},
	} {
		e["output_index"] = at
		if err := s.next(e); err != nil {
			return err
		}
	}
	return nil
}

// failed writes how a stream without a whole reply ends. The turn may still run.
func (s *responseSink) failed(f *failure) {
	end := event{"type": "error", "code": f.Code, "message": f.Message, "param": nil}
	if f.Code != interruptedCode {
		if s.open() != nil {
			return
		}
		end = event{"type": "response.failed", "response": s.form.failed(s.turn, f)}
	}
	s.number = max(s.number, s.form.first-1) // a client that continues does not have this event
	_ = s.next(end)                          // nothing follows
}

// next writes an event with the next number.
func (s *responseSink) next(e event) error { return s.write(s.number+1, e) }

// write writes an event, unless the client has it.
func (s *responseSink) write(number int, e event) error {
	if s.number = number; number < s.form.first {
		return nil
	}
	e["sequence_number"] = number
	raw, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	return s.events.Send(edge.Event{Name: fmt.Sprint(e["type"]), Data: raw})
}
