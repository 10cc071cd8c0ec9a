package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"cairn/internal/domain/fault"
)

// element is a JSON value with its position, for errors.
type element struct {
	raw   json.RawMessage
	where string
}

// container is an object that holds a conversation: {"messages": …} or a τ-bench result {"traj": …,
// "task_id": …, "trial": …, "reward": …}.
type container struct {
	Messages json.RawMessage `json:"messages"`
	Traj     json.RawMessage `json:"traj"`
	Role     json.RawMessage `json:"role"`
	TaskID   json.RawMessage `json:"task_id"`
	Trial    json.RawMessage `json:"trial"`
	Reward   *float64        `json:"reward"`
}

// parseJSON parses one JSON document, or several in sequence (JSON lines).
func parseJSON(name string, data []byte) ([]Conversation, error) {
	elements, err := topLevel(name, data)
	if err != nil {
		return nil, err
	}
	if len(elements) == 1 && kind(elements[0].raw) == '[' {
		elements = items(elements[0], name+": item")
	}
	var conversations []Conversation
	var loose []Message // messages directly in the list
	for _, e := range elements {
		c, isContainer, err := readContainer(e)
		if err != nil {
			return nil, err
		}
		if isContainer {
			conversations = append(conversations, c)
		} else if m, err := message(e); err != nil {
			return nil, err
		} else {
			loose = append(loose, m)
		}
		if loose != nil && conversations != nil {
			return nil, fault.New(fault.InvalidArgument, e.where+": messages and conversations in one list", formats)
		}
	}
	if loose != nil {
		conversations = append(conversations, Conversation{Messages: loose})
	}
	return conversations, nil
}

// readContainer reads an array of messages or an object with one. isContainer is false for any
// other object.
func readContainer(e element) (c Conversation, isContainer bool, err error) {
	if kind(e.raw) == '[' {
		c, err = conversation(e.where, e.raw)
		return c, true, err
	}
	var wire container
	if kind(e.raw) != '{' {
		return c, false, fault.New(fault.InvalidArgument, e.where+": want an object with \"role\" or \"messages\"",
			formats)
	}
	if err := json.Unmarshal(e.raw, &wire); err != nil {
		return c, false, fault.Wrap(err, fault.InvalidArgument, e.where, formats)
	}
	if r := wire.Reward; r != nil {
		if err := fault.CheckNumber(e.where+": reward", *r, -fault.MostNumber, fault.MostNumber); err != nil {
			return c, false, err
		}
	}
	list := wire.Messages
	if list == nil {
		list = wire.Traj
	}
	if list == nil && wire.Role == nil {
		return c, false, fault.New(fault.InvalidArgument,
			e.where+": no messages: the object has neither \"messages\" nor \"traj\" nor \"role\"", formats)
	}
	if list == nil {
		return c, false, nil
	}
	c, err = conversation(e.where, list)
	c.Reward, c.Title = wire.Reward, taskTitle(wire)
	return c, true, err
}

// topLevel splits the input into its JSON values. An error states the line and column.
func topLevel(name string, data []byte) ([]element, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	var elements []element
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return elements, nil
		}
		if err != nil {
			offset := int64(len(data))
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				offset = syntax.Offset - 1
			}
			line, column := place(data, offset)
			return nil, fault.Wrap(err, fault.InvalidArgument,
				fmt.Sprintf("%s:%d:%d: not valid JSON", name, line, column), formats)
		}
		line, _ := place(data, decoder.InputOffset()-int64(len(raw)))
		elements = append(elements, element{raw, fmt.Sprintf("%s: line %d", name, line)})
	}
}

// conversation parses a list of messages.
func conversation(where string, list json.RawMessage) (Conversation, error) {
	if kind(list) != '[' {
		return Conversation{}, fault.New(fault.InvalidArgument, where+": messages must be an array", formats)
	}
	var c Conversation
	for _, e := range items(element{list, where}, where+": message") {
		m, err := message(e)
		if err != nil {
			return Conversation{}, err
		}
		c.Messages = append(c.Messages, m)
	}
	return c, nil
}

// items splits an array that is valid JSON.
func items(list element, label string) []element {
	var raws []json.RawMessage
	if err := json.Unmarshal(list.raw, &raws); err != nil {
		return nil
	}
	elements := make([]element, len(raws))
	for i, raw := range raws {
		elements[i] = element{raw, fmt.Sprintf("%s %d", label, i)}
	}
	return elements
}

// kind returns the first byte of a JSON value: { [ " or another.
func kind(raw json.RawMessage) byte {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

func taskTitle(c container) string {
	task, trial := scalar(c.TaskID), scalar(c.Trial)
	switch {
	case task == "":
		return ""
	case trial == "":
		return "task " + task
	default:
		return "task " + task + ", trial " + trial
	}
}

// scalar returns the text of a JSON string, number or boolean, and an empty text for other values.
func scalar(raw json.RawMessage) string {
	var text string
	switch kind(raw) {
	case 0, '{', '[', 'n':
		return ""
	case '"':
		if json.Unmarshal(raw, &text) != nil {
			return ""
		}
		return text
	default:
		return string(bytes.TrimSpace(raw))
	}
}
