// Package tools is the one registry of what agents can do: a typed Go struct is
// a tool's arguments, its JSON Schema is what models, MCP and HTTP are told, and
// its handler is one use-case. Failures are results that a model can act on;
// only trouble of the infrastructure is an error.
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
)

// Tool is a spec with what it does. Run returns the result as JSON.
type Tool struct {
	agent.ToolSpec
	run func(ctx context.Context, a agent.Actor, arguments json.RawMessage) (any, error)
}

// SchemaBounder adds to a schema what Go types cannot say: lengths, ranges, enums.
// It is called on the zero value of a tool's arguments.
type SchemaBounder interface {
	Bound(properties map[string]*jsonschema.Schema)
}

// New makes a tool of a use-case. Fields of In without omitempty are required;
// the jsonschema tag of a field describes it.
func New[In, Out any](spec agent.ToolSpec, use func(context.Context, agent.Actor, In) (Out, error)) (Tool, error) {
	f, err := formOf[In, Out]()
	if err != nil {
		return Tool{}, fmt.Errorf("%s: %w", spec.Name, err)
	}
	spec.Input, spec.Output = bytes.Clone(f.input), bytes.Clone(f.output)
	run := func(ctx context.Context, a agent.Actor, arguments json.RawMessage) (any, error) {
		var in In
		if err := decode(f.check, arguments, &in); err != nil {
			return nil, err
		}
		return use(ctx, a, in)
	}
	return Tool{ToolSpec: spec, run: run}, nil
}

// form is what the types of a tool say: its schemas, and how arguments are checked.
type form struct {
	input, output json.RawMessage
	check         *jsonschema.Resolved
}

// forms are kept by their types: a host makes most tools four times, for one agent
// or another, and to read types costs more than half of opening it.
var forms sync.Map

func formOf[In, Out any]() (form, error) {
	types := reflect.TypeFor[func(In) Out]()
	if known, ok := forms.Load(types); ok {
		return known.(form), nil
	}
	input, err := schemaOf[In]()
	if err != nil {
		return form{}, fmt.Errorf("arguments: %w", err)
	}
	output, err := schemaOf[Out]()
	if err != nil {
		return form{}, fmt.Errorf("result: %w", err)
	}
	var f form
	if f.check, err = input.Resolve(nil); err != nil {
		return form{}, fmt.Errorf("arguments: %w", err)
	}
	if f.input, err = encoded(input); err != nil {
		return form{}, fmt.Errorf("arguments: %w", err)
	}
	if f.output, err = json.Marshal(output); err != nil {
		return form{}, fmt.Errorf("result: %w", err)
	}
	forms.Store(types, f)
	return f, nil
}

// encoded is a schema of arguments. One without properties says so: endpoints want
// the member all the same.
func encoded(s *jsonschema.Schema) (json.RawMessage, error) {
	if len(s.Properties) == 0 {
		return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`), nil
	}
	return json.Marshal(s)
}

func schemaOf[T any]() (*jsonschema.Schema, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	var zero T
	if b, ok := any(zero).(SchemaBounder); ok {
		b.Bound(schema.Properties)
	}
	return schema, nil
}

// maxArguments bounds the arguments of one call, in bytes.
const maxArguments = 512 << 10

// decode reads arguments that a model may have got wrong, and says how to put
// them right.
func decode(check *jsonschema.Resolved, arguments json.RawMessage, into any) error {
	if len(arguments) > maxArguments {
		return fault.New(fault.TooLarge, fmt.Sprintf("the arguments have %d bytes, at most %d are taken",
			len(arguments), maxArguments), "send less at once")
	}
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	var loose any
	if err := json.Unmarshal(arguments, &loose); err != nil {
		return fault.New(fault.InvalidArgument, "the arguments are not JSON: "+err.Error(),
			"send one JSON object that fits the tool's schema")
	}
	if err := check.Validate(loose); err != nil {
		return fault.New(fault.InvalidArgument, "the arguments do not fit: "+clip(err.Error()),
			"send the call again with this put right")
	}
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fault.New(fault.InvalidArgument, "the arguments do not fit: "+err.Error(),
			"send the call again with this put right")
	}
	return nil
}

// maxComplaint bounds what is said of wrong arguments, in runes: a validator
// repeats the value that it refuses.
const maxComplaint = 400

func clip(text string) string {
	if r := []rune(text); len(r) > maxComplaint {
		return string(r[:maxComplaint]) + "…"
	}
	return text
}
