package feishu

import (
	"errors"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// Frame is a message of the long connection. It is the protobuf message pbbp2.Frame of the library.
type Frame struct {
	SeqID, LogID    uint64
	Service, Method int32
	Headers         []Header
	PayloadEncoding string
	PayloadType     string
	Payload         []byte
	LogIDNew        string
}

// Header is a header of a frame.
type Header struct{ Key, Value string }

// Methods of frames.
const (
	Control = 0 // pings and pongs
	Data    = 1 // events and their acknowledgements
)

// Headers of frames.
const (
	HeaderType    = "type" // event, card, ping or pong
	HeaderMessage = "message_id"
	HeaderSum     = "sum" // number of frames of a message
	HeaderSeq     = "seq" // number of the frame in its message, from 0
	HeaderTrace   = "trace_id"
)

// Get returns the value of a header.
func (f *Frame) Get(key string) string {
	at := slices.IndexFunc(f.Headers, func(h Header) bool { return h.Key == key })
	if at < 0 {
		return ""
	}
	return f.Headers[at].Value
}

// Int returns the value of a header that is a number, or 0.
func (f *Frame) Int(key string) int {
	n, _ := strconv.Atoi(f.Get(key))
	return n
}

// Numbers of the fields of Frame and Header.
const (
	fieldSeqID = iota + 1
	fieldLogID
	fieldService
	fieldMethod
	fieldHeaders
	fieldPayloadEncoding
	fieldPayloadType
	fieldPayload
	fieldLogIDNew

	fieldKey   = 1
	fieldValue = 2
)

// Marshal encodes a frame.
func (f *Frame) Marshal() []byte {
	var b []byte
	for field, n := range []uint64{f.SeqID, f.LogID, uint64(uint32(f.Service)), uint64(uint32(f.Method))} {
		b = protowire.AppendTag(b, protowire.Number(field+1), protowire.VarintType) // also 0: the fields are required
		b = protowire.AppendVarint(b, n)
	}
	for _, h := range f.Headers {
		pair := appendBytes(appendBytes(nil, fieldKey, []byte(h.Key)), fieldValue, []byte(h.Value))
		b = appendBytes(b, fieldHeaders, pair)
	}
	b = appendBytes(b, fieldPayloadEncoding, []byte(f.PayloadEncoding))
	b = appendBytes(b, fieldPayloadType, []byte(f.PayloadType))
	b = appendBytes(b, fieldPayload, f.Payload)
	return appendBytes(b, fieldLogIDNew, []byte(f.LogIDNew))
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

var errFrame = errors.New("invalid frame")

// Unmarshal decodes a frame.
func (f *Frame) Unmarshal(b []byte) error {
	*f = Frame{}
	return eachField(b, func(field protowire.Number, n uint64, value []byte) error {
		switch field {
		case fieldSeqID:
			f.SeqID = n
		case fieldLogID:
			f.LogID = n
		case fieldService:
			f.Service = int32(n)
		case fieldMethod:
			f.Method = int32(n)
		case fieldHeaders:
			f.Headers = append(f.Headers, Header{})
			return f.Headers[len(f.Headers)-1].unmarshal(value)
		case fieldPayloadEncoding:
			f.PayloadEncoding = string(value)
		case fieldPayloadType:
			f.PayloadType = string(value)
		case fieldPayload:
			f.Payload = slices.Clone(value)
		case fieldLogIDNew:
			f.LogIDNew = string(value)
		}
		return nil
	})
}

func (h *Header) unmarshal(b []byte) error {
	return eachField(b, func(field protowire.Number, _ uint64, value []byte) error {
		switch field {
		case fieldKey:
			h.Key = string(value)
		case fieldValue:
			h.Value = string(value)
		}
		return nil
	})
}

// eachField passes the fields of a message to do: numbers, and values of fields with a length.
func eachField(b []byte, do func(field protowire.Number, n uint64, value []byte) error) error {
	for len(b) > 0 {
		field, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return errFrame
		}
		b = b[size:]
		var n uint64
		var value []byte
		switch kind {
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			value, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(field, kind, b)
		}
		if size < 0 {
			return errFrame
		}
		b = b[size:]
		if err := do(field, n, value); err != nil {
			return err
		}
	}
	return nil
}
