package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"

	"cairn/internal/domain/fault"
)

// A blob is the stored form of numbers, in little-endian order:
//
//	8 bytes   type: "cairnpol" or "cairnopt"
//	uint32    version of this layout
//	uint32    length of the header
//	…         header, JSON
//	float64…  the numbers
//	32 bytes  SHA-256 of everything before
//
// The SHA-256 is the name of the content.
const (
	policyKind    = "cairnpol"
	optimizerKind = "cairnopt"
	blobVersion   = 1
	maxHeader     = 1 << 16
)

// otherPolicy is the hint for a policy that this package cannot read.
const otherPolicy = "use another version of the bank, or import only its Markdown files (--skills-only)"

func encodeBlob(kind string, header any, vectors ...[]float64) []byte {
	head, err := json.Marshal(header)
	if err != nil {
		panic(err) // headers are structs of numbers and strings, which always marshal
	}
	length := len(kind) + 8 + len(head) + sha256.Size
	for _, v := range vectors {
		length += 8 * len(v)
	}
	blob := append(make([]byte, 0, length), kind...)
	blob = binary.LittleEndian.AppendUint32(blob, blobVersion)
	blob = binary.LittleEndian.AppendUint32(blob, uint32(len(head)))
	blob = append(blob, head...)
	for _, v := range vectors {
		for _, x := range v {
			blob = binary.LittleEndian.AppendUint64(blob, math.Float64bits(x))
		}
	}
	sum := sha256.Sum256(blob)
	return append(blob, sum[:]...)
}

// decodeBlob checks a blob, decodes its header and returns its numbers.
func decodeBlob(kind string, blob []byte, header any) (numbers []float64, err error) {
	const prefix = len(policyKind) + 8
	damaged := func(why string) error {
		return fault.New(fault.InvalidArgument, "invalid weights file: "+why,
			"export the weights again; the file was changed")
	}
	if len(blob) < prefix+sha256.Size {
		return nil, damaged("incomplete")
	}
	if has := string(blob[:len(kind)]); has != kind {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("the weights are of type %q, must be %q", has, kind),
			otherPolicy)
	}
	body, sum := blob[:len(blob)-sha256.Size], blob[len(blob)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(sum, want[:]) {
		return nil, damaged("SHA-256 mismatch")
	}
	if version := binary.LittleEndian.Uint32(body[len(kind):]); version != blobVersion {
		return nil, damaged(fmt.Sprintf("unknown layout %d, supported is %d", version, blobVersion))
	}
	length, rest := binary.LittleEndian.Uint32(body[len(kind)+4:]), body[prefix:]
	if length > maxHeader || int(length) > len(rest) {
		return nil, damaged("header too long")
	}
	if err := json.Unmarshal(rest[:length], header); err != nil {
		return nil, damaged("header is not valid JSON")
	}
	if rest = rest[length:]; len(rest)%8 != 0 {
		return nil, damaged("incomplete number")
	}
	numbers = make([]float64, len(rest)/8)
	for i := range numbers {
		numbers[i] = math.Float64frombits(binary.LittleEndian.Uint64(rest[8*i:]))
	}
	if notFinite(numbers...) {
		return nil, damaged("non-finite number")
	}
	return numbers, nil
}

// hashOf returns the SHA-256 at the end of a blob in hexadecimal.
func hashOf(blob []byte) string { return hex.EncodeToString(blob[len(blob)-sha256.Size:]) }

// Blob encodes the policy. Equal policies have equal blobs.
func (p Policy) Blob() []byte { return encodeBlob(policyKind, p.shape, p.weights) }

// Hash returns the SHA-256 of the blob, which identifies the policy: 64 hexadecimal digits.
func (p Policy) Hash() string { return hashOf(p.Blob()) }

// ParsePolicy decodes a blob of Blob. It rejects a changed blob.
func ParsePolicy(blob []byte) (Policy, error) {
	var p Policy
	numbers, err := decodeBlob(policyKind, blob, &p.shape)
	if err != nil {
		return Policy{}, err
	}
	if err := p.shape.Check(); err != nil {
		return Policy{}, err
	}
	if want := p.shape.Weights(); len(numbers) != want {
		return Policy{}, fault.Newf(fault.InvalidArgument, "the policy has %d weights, but its shape requires %d",
			len(numbers), want)
	}
	p.weights = numbers
	if !bytes.Equal(p.Blob(), blob) { // otherwise its Hash would identify another file
		return Policy{}, fault.Newf(fault.InvalidArgument,
			"non-canonical header in the policy file")
	}
	return p, nil
}

type adamHeader struct {
	Steps int `json:"steps"`
}

// Blob encodes the optimizer's state.
func (a Adam) Blob() []byte { return encodeBlob(optimizerKind, adamHeader{a.steps}, a.first, a.second) }

// Hash returns the SHA-256 of the blob, which identifies the optimizer's state: 64 hexadecimal
// digits.
func (a Adam) Hash() string { return hashOf(a.Blob()) }

// ParseAdam decodes a blob of Blob.
func ParseAdam(blob []byte) (Adam, error) {
	var header adamHeader
	numbers, err := decodeBlob(optimizerKind, blob, &header)
	if err != nil {
		return Adam{}, err
	}
	half := len(numbers) / 2
	if len(numbers) != 2*half || header.Steps < 0 || (header.Steps == 0) != (half == 0) {
		return Adam{}, fault.Newf(fault.InvalidArgument, "the optimizer's state has %d numbers after %d steps",
			len(numbers), header.Steps)
	}
	a := Adam{steps: header.Steps}
	if half > 0 {
		a.first, a.second = numbers[:half:half], numbers[half:]
	}
	for _, second := range a.second {
		if second < 0 {
			return Adam{}, fault.Newf(fault.InvalidArgument, "the optimizer's state has a negative second moment")
		}
	}
	if !bytes.Equal(a.Blob(), blob) {
		return Adam{}, fault.Newf(fault.InvalidArgument,
			"non-canonical header in the optimizer file")
	}
	return a, nil
}
