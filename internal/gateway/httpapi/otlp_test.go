package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

const tracesPath = "/v1/otlp/v1/traces"

// recorder keeps spans, so that a test can export them again.
type recorder struct {
	sdk.SpanExporter
	spans []sdk.ReadOnlySpan
}

func (r *recorder) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	r.spans = append(r.spans, spans...)
	return r.SpanExporter.ExportSpans(ctx, spans)
}

// sentMessages encodes messages as instrumentations do.
func sentMessages(texts ...string) attribute.KeyValue {
	var parts []string
	for i, text := range texts {
		role := []string{"user", "assistant"}[i%2]
		parts = append(parts, `{"role":"`+role+`","parts":[{"type":"text","content":"`+text+`"}]}`)
	}
	return attribute.String("gen_ai.input.messages", "["+strings.Join(parts, ",")+"]")
}

func TestTheExporterOfOpenTelemetrySendsConversations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(b.url+tracesPath),
		otlptracehttp.WithHeaders(map[string]string{"Authorization": "Bearer " + b.key}),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	testkit.Must(t, err)
	r := &recorder{SpanExporter: exporter}
	provider := sdk.NewTracerProvider(sdk.WithSyncer(r)) // each span is a request
	tracer := provider.Tracer("agent")
	ctx, root := tracer.Start(t.Context(), "invoke_agent")
	for _, texts := range [][]string{{"Where is the key?"}, {"Where is the key?", "Under the mat.", "Thanks."}} {
		_, call := tracer.Start(ctx, "chat")
		call.SetAttributes(attribute.String("gen_ai.operation.name", "chat"),
			attribute.String("gen_ai.conversation.id", "c1"), sentMessages(texts...))
		call.End()
	}
	list := func() (out httpapi.ImportList) {
		b.get("/v1/imports").into(http.StatusOK, &out)
		return out
	}
	if made := list(); len(made.Imports) != 0 {
		t.Fatalf("imported before the root span has ended: %+v", made)
	}
	root.End()
	testkit.Eventually(t, "the conversation is stored", func() bool {
		made := list()
		return len(made.Imports) == 1 && made.Imports[0].StoredAt != nil
	})
	testkit.Must(t, exporter.ExportSpans(t.Context(), r.spans)) // again, in one request
	var page httpapi.MessageList
	b.get("/v1/conversations/"+list().Imports[0].Conversations[0]+"/messages").into(http.StatusOK, &page)
	if len(page.Messages) != 3 || page.Messages[2].Content != "Thanks." {
		t.Errorf("messages %+v", page.Messages)
	}
	var spans, open, tasks int
	testkit.Must(t, b.connect().QueryRow(t.Context(), "select count(*), count(content), (select count(*) from "+
		"cairn.outbox where kind = 'trace') from cairn.trace_spans").Scan(&spans, &open, &tasks))
	if spans != 2 || open != 0 || tasks != 0 || len(list().Imports) != 1 {
		t.Errorf("%d spans, %d open, %d tasks, imports %+v", spans, open, tasks, list())
	}
	testkit.Must(t, provider.Shutdown(t.Context()))
}

func TestTheExporterLearnsOfRejectedSpans(t *testing.T) {
	t.Parallel()
	b := idle(t)
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(b.url+tracesPath),
		otlptracehttp.WithHeaders(map[string]string{"Authorization": "Bearer " + b.key}))
	testkit.Must(t, err)
	var failed error
	r := &recorder{SpanExporter: exporter}
	tracer := sdk.NewTracerProvider(sdk.WithSyncer(r)).Tracer("agent")
	_, call := tracer.Start(t.Context(), "chat")
	call.SetAttributes(attribute.String("gen_ai.operation.name", "chat"))
	call.End()
	failed = exporter.ExportSpans(t.Context(), r.spans)
	if failed == nil || !strings.Contains(failed.Error(), "1 spans rejected") ||
		!strings.Contains(failed.Error(), "have no messages") {
		t.Errorf("the exporter reports %v", failed)
	}
	foreign, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(b.url+tracesPath),
		otlptracehttp.WithHeaders(map[string]string{"Authorization": "Bearer " + b.makeKey(b.Workspace, access.Read)}),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}))
	testkit.Must(t, err)
	if err := foreign.ExportSpans(t.Context(), r.spans); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a key that only reads sends spans: %v", err)
	}
}

func TestTracesAsJSONAreReceivedAndBadOnesRefused(t *testing.T) {
	t.Parallel()
	b := idle(t)
	send := func(kind, encoding, body string) response {
		return b.do(request{method: http.MethodPost, path: tracesPath, body: body, header: map[string]string{
			"Content-Type": kind, "Content-Encoding": encoding}})
	}
	body := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10",` +
		`"spanId":"0102030405060708","parentSpanId":"","attributes":[{"key":"gen_ai.input.messages","value":` +
		`{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"Hello\"}]}]"}}]}]}]}]}`
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(body))
	testkit.Must(t, err)
	testkit.Must(t, w.Close())
	for _, r := range []response{send("application/json", "", body),
		send("application/json", "gzip", packed.String())} {
		if r.status != http.StatusOK || string(r.body) != "{}" {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	var n int
	testkit.Must(t, b.connect().QueryRow(t.Context(), "select count(*) from cairn.trace_spans").Scan(&n))
	if n != 1 {
		t.Errorf("%d spans are stored", n)
	}
	send("text/plain", "", body).refused(fault.InvalidArgument)
	send("application/json", "br", body).refused(fault.InvalidArgument)
	send("application/json", "gzip", body).refused(fault.InvalidArgument)
	send("application/x-protobuf", "", body).refused(fault.InvalidArgument)
}
