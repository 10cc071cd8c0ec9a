package intake

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// Formats of spans.
const (
	GenAI         = "otel-genai"
	OpenInference = "openinference"
)

// Span is a span with the messages of a model request.
type Span struct {
	Trace   []byte // 16 bytes
	ID      []byte // 8 bytes
	Format  string
	Session []byte // identifies the conversation in all its requests, 32 bytes
	Line    []byte // OTLP JSON without line breaks
}

// SpanBatch is what a request holds.
type SpanBatch struct {
	Spans    []Span
	Ended    [][]byte // IDs of the traces whose root span has ended
	Rejected int      // spans that should hold messages, but cannot be read
	reasons  []string
}

// Reason returns why spans were rejected.
func (b *SpanBatch) Reason() string { return strings.Join(b.reasons, "; ") }

// maxReasons limits the reasons of a response.
const maxReasons = 3

func (b *SpanBatch) reject(reason string) {
	b.Rejected++
	if !slices.Contains(b.reasons, reason) && len(b.reasons) < maxReasons {
		b.reasons = append(b.reasons, reason)
	}
}

// CollectSpans returns the spans of a request that hold messages. Spans of other kinds are left out, and are not
// rejected:
// exporters send all spans of a program.
func CollectSpans(r *collector.ExportTraceServiceRequest) *SpanBatch {
	b := &SpanBatch{}
	for _, resource := range r.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				b.add(span)
			}
		}
	}
	return b
}

func (b *SpanBatch) add(span *trace.Span) {
	format, request, messages := kindOf(span)
	if !validOTLP(span.GetTraceId(), 16) || !validOTLP(span.GetSpanId(), 8) {
		if request || messages {
			b.reject("a span has an invalid trace ID or span ID")
		}
		return
	}
	if len(span.GetParentSpanId()) == 0 {
		b.Ended = append(b.Ended, span.GetTraceId())
	}
	if !messages {
		if request {
			b.reject("spans of model requests have no messages: let the instrumentation capture message content")
		}
		return
	}
	line, err := lineOf(span)
	if err == nil {
		var one Span
		if one, err = read(span, format, line); err == nil {
			b.Spans = append(b.Spans, one)
			return
		}
	}
	b.reject(err.Error())
}

func validOTLP(id []byte, size int) bool {
	return len(id) == size && !bytes.Equal(id, make([]byte, size))
}

// read checks that the messages of a span can be read, and finds its conversation.
func read(span *trace.Span, format string, line []byte) (out Span, err error) {
	result, err := Read("span "+hex.EncodeToString(span.GetSpanId()), bytes.NewReader(line),
		Options{Format: format, AllowUnknown: true})
	if err != nil {
		return out, err
	}
	session, ok := result.Conversations[0].SessionKey()
	if !ok {
		return out, errors.New("a span belongs to no conversation")
	}
	return Span{Trace: span.GetTraceId(), ID: span.GetSpanId(), Format: format, Session: session, Line: line}, nil
}

// otlpRequests are the operations of GenAI spans that send messages to a model.
var otlpRequests = []string{"chat", "text_completion", "generate_content"}

// kindOf returns the format of a span, whether it is a request to a model, and whether it holds messages.
func kindOf(span *trace.Span) (format string, request, messages bool) {
	format = GenAI
	each := func(attributes []*common.KeyValue) {
		for _, a := range attributes {
			key, value := a.GetKey(), a.GetValue().GetStringValue()
			switch {
			case key == "openinference.span.kind":
				format, request = OpenInference, value == "LLM"
			case key == "gen_ai.operation.name" && format == GenAI:
				request = slices.Contains(otlpRequests, value)
			case key == "gen_ai.input.messages" || key == "gen_ai.output.messages" ||
				strings.HasPrefix(key, "llm.input_messages.") || strings.HasPrefix(key, "llm.output_messages."):
				messages = true
			}
		}
	}
	each(span.GetAttributes())
	for _, event := range span.GetEvents() {
		each(event.GetAttributes())
	}
	return format, request, messages && (format == GenAI || request)
}

// lineOf encodes a span as OTLP JSON.
func lineOf(span *trace.Span) ([]byte, error) {
	raw, err := protojson.Marshal(&trace.TracesData{ResourceSpans: []*trace.ResourceSpans{
		{ScopeSpans: []*trace.ScopeSpans{{Spans: []*trace.Span{span}}}}}})
	if err != nil {
		return nil, fmt.Errorf("encode a span: %w", err)
	}
	return eachID(raw, func(id string) (string, error) {
		raw, err := base64.StdEncoding.DecodeString(id)
		return hex.EncodeToString(raw), err
	})
}

// SpanFile joins spans of one format to a session file.
func SpanFile(lines [][]byte) []byte { return append(bytes.Join(lines, []byte("\n")), '\n') }

// SpanFileName returns the name of a session file for people.
func SpanFileName(session []byte) string {
	const digits = 12
	return "otlp-" + cmp.Or(hex.EncodeToString(session), strings.Repeat("0", digits))[:digits] + ".jsonl"
}
