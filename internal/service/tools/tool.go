// Package tools is the registry of agent tools. A Go struct defines the arguments of a tool, its
// JSON Schema is what models, MCP and HTTP clients see, and its handler calls one use case.
// Failures that the caller can handle are results; only infrastructure failures are errors.
package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
)

// Tool is a tool with its specification. Run returns the result as JSON.
type Tool struct {
	agent.ToolSpec
	run func(ctx context.Context, a agent.Actor, arguments json.RawMessage) (any, error)
}

// SchemaBounder adds to a schema what Go types cannot express: lengths, ranges, enums. It is called
// on the zero value of the arguments.
type SchemaBounder interface {
	Bound(properties map[string]*jsonschema.Schema)
}

// New builds a tool from a use case. Fields of In without omitempty are required. Their
// descriptions come from jsonschema tags.
func New[In, Out any](spec agent.ToolSpec, use func(context.Context, agent.Actor, In) (Out, error)) (Tool, error) {
	f, err := formOf[In, Out]()
	if err != nil {
		return Tool{}, fmt.Errorf("%s: %w", spec.Name, err)
	}
	spec.Input, spec.Output = bytes.Clone(f.input), bytes.Clone(f.output)
	run := func(ctx context.Context, a agent.Actor, arguments json.RawMessage) (any, error) {
		var in In
		if err := decode(f.check, arguments, &in, cmp.Or(spec.Larger, "send less data per call")); err != nil {
			return nil, err
		}
		return use(ctx, a, in)
	}
	return Tool{ToolSpec: spec, run: run}, nil
}

// form holds the schemas of a tool and the check of its arguments.
type form struct {
	input, output json.RawMessage
	check         *jsonschema.Resolved
}

// forms caches forms by type. A host builds most tools four times, and reflection on types takes
// more than half of its startup.
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

// encoded encodes the schema of arguments. It always includes properties, because endpoints require
// the field.
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

// maxArguments is the maximum size of the arguments of a call in bytes.
const maxArguments = 512 << 10

// decode decodes arguments of a model and returns an error that states how to correct them. larger is the hint for
// arguments that are too large.
func decode(check *jsonschema.Resolved, arguments json.RawMessage, into any, larger string) error {
	if len(arguments) > maxArguments {
		return fault.New(fault.TooLarge, fmt.Sprintf("arguments have %d bytes, the limit is %d",
			len(arguments), maxArguments), larger)
	}
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	var loose any
	if err := json.Unmarshal(arguments, &loose); err != nil {
		return fault.New(fault.InvalidArgument, "arguments are not valid JSON: "+err.Error(),
			"send one JSON object that matches the schema of the tool")
	}
	if err := check.Validate(loose); err != nil {
		return fault.New(fault.InvalidArgument, "invalid arguments: "+complaint(err),
			"correct the arguments and repeat the call")
	}
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fault.New(fault.InvalidArgument, "invalid arguments: "+err.Error(),
			"correct the arguments and repeat the call")
	}
	return nil
}

// maxComplaint is the maximum length of an error about arguments, in runes. Validators repeat the
// rejected value.
const maxComplaint = 160

// rejectedValue matches the values in errors of the validator, in the form of Go.
var rejectedValue = regexp.MustCompile(`(?s)type: .*? (has type "\w+", want )|enum: .*? (does not equal any of: )`)

// complaint says what a validator rejects, without the value: the caller has it.
func complaint(err error) string {
	return clip(rejectedValue.ReplaceAllString(err.Error(), "the value $1$2"))
}

func clip(text string) string {
	if r := []rune(text); len(r) > maxComplaint {
		return string(r[:maxComplaint]) + "…"
	}
	return text
}
