package intake

import (
	"fmt"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"cairn/internal/domain/decoding"
	"cairn/internal/domain/fault"
)

// Limits of a request.
const (
	// MaxSpanBody is the maximum size of a request after decompression, in bytes.
	MaxSpanBody = 32 << 20
	// maxMessages is the maximum number of messages in a request: spans, attributes, their values and so on. An empty
	// message has two bytes, and about a hundred when it is decoded.
	maxMessages = decoding.MaxValues
	maxNested   = 100
)

// otlpTooMany returns an error if a request has more elements than it may. It builds no objects.
func otlpTooMany(kind string, body []byte) error {
	if kind == JSONContent {
		if decoding.Count(body) > maxMessages {
			return smaller()
		}
		return nil
	}
	c := counter{}
	return c.count(body, (&collector.ExportTraceServiceRequest{}).ProtoReflect().Descriptor(), 0)
}

func smaller() error {
	return fault.New(fault.TooLarge, fmt.Sprintf("request has more than %d elements", maxMessages),
		"export smaller batches: lower OTEL_BSP_MAX_EXPORT_BATCH_SIZE, or send_batch_max_size of a collector")
}

// counter counts the messages and the unknown fields of a request.
type counter struct{ n int }

func (c *counter) count(body []byte, of protoreflect.MessageDescriptor, depth int) error {
	if depth > maxNested {
		return undecodable(fmt.Errorf("messages are nested more than %d deep", maxNested))
	}
	for len(body) > 0 {
		number, wire, n := protowire.ConsumeTag(body)
		if n < 0 {
			return undecodable(protowire.ParseError(n))
		}
		value := protowire.ConsumeFieldValue(number, wire, body[n:])
		if value < 0 {
			return undecodable(protowire.ParseError(value))
		}
		field := of.Fields().ByNumber(number)
		inner := field != nil && field.Message() != nil && wire == protowire.BytesType
		if inner || field == nil || field.IsList() {
			if c.n++; c.n > maxMessages {
				return smaller()
			}
		}
		if inner {
			content, _ := protowire.ConsumeBytes(body[n:])
			if err := c.count(content, field.Message(), depth+1); err != nil {
				return err
			}
		}
		body = body[n+value:]
	}
	return nil
}
