package intake_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript/intake"
	"cairn/internal/testkit"
)

// attribute is an attribute of a span in OTLP JSON.
func attribute(key, value string) string {
	text, _ := json.Marshal(value)
	return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%s}}`, key, text)
}

const traceID = "0102030405060708090a0b0c0d0e0f10"

// span is a span in OTLP JSON.
func span(id, parent string, attributes ...string) string {
	return fmt.Sprintf(`{"traceId":%q,"spanId":%q,"parentSpanId":%q,"name":"chat","attributes":[%s]}`, traceID, id,
		parent, strings.Join(attributes, ","))
}

func request(spans ...string) string {
	return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(spans, ",") + `]}],"newField":1}]}`
}

func messages(role, text string) string {
	return fmt.Sprintf(`[{"role":%q,"parts":[{"type":"text","content":%q}]}]`, role, text)
}

// chat is a span of a model request.
func chat(id, conversation string) string {
	return span(id, "1111111111111111", attribute("gen_ai.operation.name", "chat"),
		attribute("gen_ai.conversation.id", conversation),
		attribute("gen_ai.input.messages", messages("user", "Where is the key?")),
		attribute("gen_ai.output.messages", messages("assistant", "Under the mat.")))
}

func collect(t *testing.T, body string) *intake.SpanBatch {
	t.Helper()
	r, err := intake.DecodeSpans(intake.JSONContent+"; charset=utf-8", []byte(body))
	testkit.Must(t, err)
	return intake.CollectSpans(r)
}

func TestSpansOfModelRequestsAreCollectedByConversation(t *testing.T) {
	b := collect(t, request(chat("00000000000000a1", "c1"), chat("00000000000000a2", "c2"),
		span("00000000000000a3", "1111111111111111", attribute("http.route", "/")),
		span("00000000000000a4", "1111111111111111", attribute("gen_ai.operation.name", "execute_tool")),
		span("1111111111111111", "", attribute("gen_ai.operation.name", "invoke_agent"))))
	if len(b.Spans) != 2 || b.Rejected != 0 || b.Reason() != "" {
		t.Fatalf("collected %+v", b)
	}
	if len(b.Ended) != 1 || hex.EncodeToString(b.Ended[0]) != traceID {
		t.Errorf("ended %x", b.Ended)
	}
	one, two := b.Spans[0], b.Spans[1]
	if one.Format != intake.GenAI || bytes.Equal(one.Session, two.Session) || len(one.Session) != 32 {
		t.Errorf("spans %+v", b.Spans)
	}
	result, err := intake.Read("x.jsonl", bytes.NewReader(intake.SpanFile([][]byte{one.Line, two.Line})),
		intake.Options{})
	testkit.Must(t, err)
	if len(result.Conversations) != 2 || result.Conversations[0].Session != "c1" ||
		result.Conversations[0].Messages[1].Content != "Under the mat." {
		t.Errorf("read %+v", result.Conversations)
	}
}

func TestSpansWithoutAConversationIDBelongToTheirTrace(t *testing.T) {
	plain := func(id string) string {
		return span(id, "", attribute("gen_ai.input.messages", messages("user", "Hello "+id)))
	}
	b := collect(t, request(plain("00000000000000a1"), plain("00000000000000a2")))
	if len(b.Spans) != 2 || !bytes.Equal(b.Spans[0].Session, b.Spans[1].Session) {
		t.Fatalf("collected %+v", b)
	}
	if !bytes.Contains(b.Spans[0].Line, []byte(`"`+traceID+`"`)) || bytes.ContainsRune(b.Spans[0].Line, '\n') {
		t.Errorf("the line is %s", b.Spans[0].Line)
	}
}

func TestSpansOfOpenInferenceAreCollected(t *testing.T) {
	b := collect(t, request(span("00000000000000a1", "", attribute("openinference.span.kind", "LLM"),
		attribute("session.id", "s1"), attribute("llm.input_messages.0.message.role", "user"),
		attribute("llm.input_messages.0.message.content", "Hello")),
		span("00000000000000a2", "", attribute("openinference.span.kind", "CHAIN"),
			attribute("llm.input_messages.0.message.role", "user"))))
	if len(b.Spans) != 1 || b.Spans[0].Format != intake.OpenInference || b.Rejected != 0 {
		t.Errorf("collected %+v", b)
	}
}

func TestSpansThatCannotBeReadAreRejectedAndCounted(t *testing.T) {
	odd := strings.Replace(chat("00000000000000a3", "c"), `\"user\"`, `\"odd\"`, 1)
	b := collect(t, request(span("00000000000000a1", "", attribute("gen_ai.operation.name", "chat")),
		span("0000000000000000", "", attribute("gen_ai.operation.name", "chat")), odd))
	if len(b.Spans) != 0 || b.Rejected != 3 {
		t.Fatalf("collected %+v", b)
	}
	for _, want := range []string{"have no messages", "invalid trace ID or span ID", `unknown role "odd"`} {
		if !strings.Contains(b.Reason(), want) {
			t.Errorf("the reason is %s, want %s", b.Reason(), want)
		}
	}
}

func TestBothEncodingsOfARequestAreEqual(t *testing.T) {
	r, err := intake.DecodeSpans(intake.JSONContent, []byte(request(chat("00000000000000a1", "c1"))))
	testkit.Must(t, err)
	raw, err := proto.Marshal(r)
	testkit.Must(t, err)
	again, err := intake.DecodeSpans(intake.ProtobufContent, raw)
	testkit.Must(t, err)
	if !proto.Equal(r, again) || hex.EncodeToString(r.ResourceSpans[0].ScopeSpans[0].Spans[0].SpanId) !=
		"00000000000000a1" {
		t.Errorf("%v, then %v", r, again)
	}
	for _, bad := range []struct{ kind, body string }{{"text/plain", "x"}, {"", "x"},
		{intake.JSONContent, `{"resourceSpans":1}`},
		{intake.JSONContent, `{`}, {intake.ProtobufContent, "\xff\xff"}, {intake.JSONContent,
			request(chat("xyz", "c"))},
		{intake.JSONContent, base64.StdEncoding.EncodeToString(raw)}} {
		if _, err := intake.DecodeSpans(bad.kind, []byte(bad.body)); fault.CodeOf(err) != fault.InvalidArgument ||
			fault.From(err).Hint == "" {
			t.Errorf("%s %.40s: %v", bad.kind, bad.body, err)
		}
	}
}

func TestAResponseCountsRejectedSpans(t *testing.T) {
	kind, body, err := intake.SpanResponse(intake.ProtobufContent, 2, "no messages")
	testkit.Must(t, err)
	var got collector.ExportTraceServiceResponse
	testkit.Must(t, proto.Unmarshal(body, &got))
	if kind != intake.ProtobufContent || got.PartialSuccess.GetRejectedSpans() != 2 ||
		got.PartialSuccess.GetErrorMessage() != "no messages" {
		t.Errorf("%s %v", kind, &got)
	}
	kind, body, err = intake.SpanResponse(intake.JSONContent, 0, "")
	testkit.Must(t, err)
	if testkit.Must(t, protojson.Unmarshal(body, &got)); kind != intake.JSONContent || string(body) != "{}" {
		t.Errorf("%s %s", kind, body)
	}
}
