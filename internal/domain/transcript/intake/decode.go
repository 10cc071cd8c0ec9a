package intake

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"cairn/internal/domain/fault"
)

// Content types of requests and responses.
const (
	ProtobufContent = "application/x-protobuf"
	JSONContent     = "application/json"
)

// contentType returns the content type of a request without its parameters.
func contentType(header string) (string, error) {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil || kind != ProtobufContent && kind != JSONContent {
		return "", fault.New(fault.InvalidArgument, fmt.Sprintf("unknown content type %.60q", header),
			"send OTLP as "+ProtobufContent+" or "+JSONContent+
				": set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf or http/json")
	}
	return kind, nil
}

// DecodeSpans decodes the body of a request, which is not compressed. It counts what the body has before it decodes it.
func DecodeSpans(header string, body []byte) (*collector.ExportTraceServiceRequest, error) {
	kind, err := contentType(header)
	if err != nil {
		return nil, err
	}
	if err := otlpTooMany(kind, body); err != nil {
		return nil, err
	}
	out := &collector.ExportTraceServiceRequest{}
	if kind == ProtobufContent {
		if err := proto.Unmarshal(body, out); err != nil {
			return nil, undecodable(err)
		}
		return out, nil
	}
	body, err = eachID(body, func(id string) (string, error) {
		raw, err := hex.DecodeString(id)
		return base64.StdEncoding.EncodeToString(raw), err
	})
	if err != nil {
		return nil, undecodable(err)
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, out); err != nil {
		return nil, undecodable(err)
	}
	return out, nil
}

func undecodable(err error) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("request is not an ExportTraceServiceRequest: %.300s",
		err.Error()), "send traces as an OTLP exporter does; metrics and logs are not accepted")
}

// SpanResponse encodes the response to a request.
func SpanResponse(header string, rejected int, reason string) (kind string, body []byte, err error) {
	if kind, err = contentType(header); err != nil {
		return "", nil, err
	}
	out := &collector.ExportTraceServiceResponse{}
	if rejected > 0 || reason != "" {
		out.PartialSuccess = &collector.ExportTracePartialSuccess{RejectedSpans: int64(rejected), ErrorMessage: reason}
	}
	if kind == ProtobufContent {
		body, err = proto.Marshal(out)
	} else {
		body, err = protojson.Marshal(out)
	}
	if err != nil {
		return "", nil, fmt.Errorf("encode the response to an exporter: %w", err)
	}
	return kind, body, nil
}

// idNames are the members with IDs of spans, which OTLP JSON writes in hexadecimal digits, and the JSON of Protocol
// Buffers in base64.
var idNames = map[string]bool{"traceId": true, "spanId": true, "parentSpanId": true, "trace_id": true,
	"span_id": true, "parent_span_id": true}

// eachID replaces the IDs of spans and links in JSON. Attributes are lists of keys and values, so none is replaced.
func eachID(body []byte, replace func(id string) (string, error)) ([]byte, error) {
	var all any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		return nil, err
	}
	if err := walk(all, replace); err != nil {
		return nil, err
	}
	return json.Marshal(all)
}

func walk(n any, replace func(id string) (string, error)) (err error) {
	switch v := n.(type) {
	case []any:
		for _, item := range v {
			if err := walk(item, replace); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, value := range v {
			id, isText := value.(string)
			if isText && idNames[key] {
				if v[key], err = replace(id); err != nil {
					return fmt.Errorf("invalid %s %.60q: %w", key, id, err)
				}
				continue
			}
			if err := walk(value, replace); err != nil {
				return err
			}
		}
	}
	return nil
}
