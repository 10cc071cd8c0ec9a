package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/decoding"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript/intake"
)

type exportInput struct {
	ContentType     string `header:"Content-Type" doc:"application/x-protobuf or application/json"`
	ContentEncoding string `header:"Content-Encoding" doc:"gzip, or none"`
	RawBody         []byte
}

type exportOutput struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (g *Gateway) otlpRoutes() {
	bodies := func(about string) map[string]*huma.MediaType {
		return map[string]*huma.MediaType{intake.ProtobufContent: {Schema: binary(about)},
			intake.JSONContent: {Schema: &huma.Schema{Type: huma.TypeObject, Description: about}}}
	}
	handle(g, route{method: http.MethodPost, path: "/v1/otlp/v1/traces", id: "exportTraces", tag: tagDistill,
		scope: access.Write, summary: "Receive traces of an OpenTelemetry exporter",
		about: "OTLP/HTTP. Spans of model requests with the messages of GenAI semantic conventions or OpenInference " +
			"are stored durably, in their order, and a repeated span has no effect. Their conversation " +
			"(`gen_ai.conversation.id` or `session.id`, else the trace) is imported when its root span has ended, or " +
			"when no span has arrived for some minutes (`CAIRN_TRACE_IDLE`). Spans of other kinds are left out. " +
			"`partial_success` counts model requests without messages and spans that cannot be read.",
		body: &huma.RequestBody{Required: true, Content: bodies("An ExportTraceServiceRequest")},
		responses: map[string]*huma.Response{"200": {Description: "Stored",
			Content: bodies("An ExportTraceServiceResponse")}},
	}, g.exportTraces)
}

func (g *Gateway) exportTraces(ctx context.Context, in *exportInput) (*exportOutput, error) {
	size, err := inflatedSize(in.ContentEncoding, in.RawBody)
	if err != nil {
		return nil, err
	}
	release, err := decoding.Begin(ctx, size)
	if err != nil {
		return nil, err
	}
	defer release()
	body, err := inflated(in.ContentEncoding, in.RawBody, size)
	if err != nil {
		return nil, err
	}
	request, err := intake.DecodeSpans(in.ContentType, body)
	if err != nil {
		return nil, err
	}
	batch := intake.CollectSpans(request)
	if _, err := g.Traces.Receive(ctx, workspace(ctx), batch); err != nil {
		return nil, err
	}
	kind, out, err := intake.SpanResponse(in.ContentType, batch.Rejected, batch.Reason())
	if err != nil {
		return nil, err
	}
	return &exportOutput{ContentType: kind, Body: out}, nil
}

// inflatedSize returns the size of a body without its compression. It keeps nothing of it.
func inflatedSize(encoding string, body []byte) (int, error) {
	if !compressed(encoding) {
		if encoding != "" && !strings.EqualFold(strings.TrimSpace(encoding), "identity") {
			return 0, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown content encoding %.40q", encoding),
				"compress with gzip, or not: set OTEL_EXPORTER_OTLP_COMPRESSION to gzip or none")
		}
		return len(body), nil
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return 0, damagedBody(err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r, intake.MaxSpanBody+1))
	switch {
	case err != nil:
		return 0, damagedBody(err)
	case n > intake.MaxSpanBody:
		return 0, fault.New(fault.TooLarge, fmt.Sprintf("request inflates to more than %d bytes", intake.MaxSpanBody),
			"export smaller batches: lower OTEL_BSP_MAX_EXPORT_BATCH_SIZE")
	}
	return int(n), nil
}

// inflated returns a body without its compression, which has the given size.
func inflated(encoding string, body []byte, size int) ([]byte, error) {
	if !compressed(encoding) {
		return body, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, damagedBody(err)
	}
	out := make([]byte, size)
	if _, err := io.ReadFull(r, out); err != nil {
		return nil, damagedBody(err)
	}
	return out, nil
}

func compressed(encoding string) bool { return strings.EqualFold(strings.TrimSpace(encoding), "gzip") }

func damagedBody(err error) error {
	return fault.Wrap(err, fault.InvalidArgument, "damaged gzip body", "send the request again")
}
