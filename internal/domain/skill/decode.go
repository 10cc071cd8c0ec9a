package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// DecodeDraft decodes a model's reply tolerantly: Cairn's schema, the keys of MemOS, and common
// variants of both. The notes list what was coerced, cut or ignored. The error lists all invalid
// fields in one message, which can be sent to the model for repair. null, {}, [] and action skip
// give a Draft with action Skip. mode is Simple, Full or SimpleKeep. seqs are the messages that
// evidence may cite. known are the procedures of the skills that were shown. Rules, pitfalls and steps that
// cite no message are dropped, but not a step of an update that a known procedure has.
func DecodeDraft(raw json.RawMessage, mode string, seqs []int, known ...string) (Draft, []string, error) {
	object, err := rootObject(raw)
	if err != nil {
		return Draft{}, nil, err
	}
	if len(object) == 0 {
		return Draft{Action: Skip, Reason: "the model found nothing reusable"}, nil, nil
	}
	f := newFields(object)
	d := Draft{Reason: f.line("reason", MaxDescription, "reason", "reasoning")}
	f.action(&d)
	if d.Action == Skip {
		return Draft{Action: Skip, Reason: d.Reason}, f.notes, nil
	}
	d.Name = f.line("name", MaxName, "name", "title")
	d.Description = f.line("description", MaxDescription, "description")
	d.Trigger = f.triggers()
	f.parts(&d, seqs, known)
	most := MaxItems
	if d.Action == Update { // it repeats the skill's items, so a limit would cut the new item at the end
		most = MaxUpdateItems
	}
	d.Experience = f.list("experience", most, 0, "experience", "experiences")
	d.Preference = f.list("preference", most, 0, "preference", "preferences", "user_preferences")
	d.Examples = f.list("examples", MaxExamples, MaxExample, "examples", "example")
	f.files(&d, mode)
	f.evidence(&d, seqs)
	f.confidence(&d)
	d.Removed = f.removals()
	d.UsedHistory = f.flag("used_history", "whether_use_chat_history")
	f.ignore("content_of_current_message", "content_of_related_chat_history", "task_id", "id")
	f.unknown()
	if d.Action == Create && len(f.faults) == 0 {
		if err := d.Complete(); err != nil {
			if f.dropped > 0 {
				err = fmt.Errorf("%w; %d parts cite no message of the task in evidence", err, f.dropped)
			}
			f.faults = append(f.faults, err.Error())
		}
	}
	if err := errDraft(f.faults); err != nil {
		return Draft{}, f.notes, err
	}
	return d, f.notes, nil
}

// rootObject returns the only object of a reply, and nil if the reply means nothing to learn.
func rootObject(raw json.RawMessage) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		return nil, fmt.Errorf("the reply is not valid JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the reply contains more than one JSON value; send one object")
	}
	if list, ok := root.([]any); ok && len(list) < 2 {
		root = nil
		if len(list) == 1 {
			root = list[0]
		}
	}
	if text, ok := root.(string); ok && isNothing(text) {
		root = nil
	}
	switch root := root.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		if inner, ok := root["skill"]; ok && len(root) == 1 {
			if object, ok := inner.(map[string]any); ok || inner == nil {
				return object, nil
			}
		}
		return root, nil
	default:
		return nil, fmt.Errorf("the reply must be one JSON object, or null when there is nothing to learn; got %s",
			kindOf(root))
	}
}

// fields reads an object by names. It records which fields were read and which are invalid.
type fields struct {
	object map[string]any
	used   map[string]bool
	notes  []string
	faults []string

	dropped int // parts without a citation
}

func newFields(object map[string]any) *fields {
	f := &fields{object: map[string]any{}, used: map[string]bool{}}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		f.object[strings.ToLower(strings.TrimSpace(key))] = object[key]
	}
	return f
}

func (f *fields) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

func (f *fields) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

// take returns the first named value that exists and is not empty.
func (f *fields) take(names ...string) any {
	var found any
	for _, name := range names {
		f.used[name] = true
		if value, ok := f.object[name]; ok && found == nil && !isEmpty(value) {
			found = value
		}
	}
	return found
}

func (f *fields) ignore(names ...string) {
	for _, name := range names {
		f.used[name] = true
	}
}

func (f *fields) unknown() {
	for _, key := range slices.Sorted(maps.Keys(f.object)) {
		if !f.used[key] {
			f.note("%.40s: unknown field, ignored", key)
		}
	}
}

// action derives the action of the draft from `action`, or from the fields `update` and
// `old_memory_id` of MemOS.
func (f *fields) action(d *Draft) {
	action, _ := f.take("action").(string)
	update := f.flag("update")
	target := f.line("target", MaxName, "target", "old_memory_id", "target_id")
	if isNothing(target) {
		target = ""
	}
	switch action := strings.ToLower(strings.TrimSpace(action)); {
	case action == Create || action == Update || action == Skip:
		d.Action = action
	case action == "none" || action == "no_skill" || action == "null":
		d.Action = Skip
	case action != "":
		f.fault("action: want create, update or skip, got %q", cut(action, MaxName))
	case update || target != "" && f.object["update"] == nil:
		d.Action = Update
	default:
		d.Action = Create
	}
	if d.Action == Update {
		d.Target = target
	} else if target != "" && d.Action == Create {
		f.note("target: %q ignored, the action is create", cut(target, MaxName))
	}
}
