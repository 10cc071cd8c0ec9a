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

// A blob is how numbers are kept, in little-endian order:
//
//	8 bytes   what it is: "cairnpol" or "cairnopt"
//	uint32    version of this layout
//	uint32    length of the header
//	…         header, JSON
//	float64…  the numbers
//	32 bytes  SHA-256 of all before
//
// The sum is the name of what the blob holds.
const (
	policyKind    = "cairnpol"
	optimiserKind = "cairnopt"
	blobVersion   = 1
	maxHeader     = 1 << 12
)

func encodeBlob(kind string, header any, vectors ...[]float64) []byte {
	head, err := json.Marshal(header)
	if err != nil {
		panic(err) // headers are structs of numbers and strings
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

// decodeBlob checks a blob and reads its header; numbers are what follows.
func decodeBlob(kind string, blob []byte, header any) (numbers []float64, err error) {
	const prefix = len(policyKind) + 8
	damaged := func(why string) error {
		return fault.New(fault.InvalidArgument, "the weights cannot be read: "+why,
			"export them again; the file is not what was written")
	}
	if len(blob) < prefix+sha256.Size || string(blob[:len(kind)]) != kind {
		return nil, damaged("it is no such file")
	}
	body, sum := blob[:len(blob)-sha256.Size], blob[len(blob)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(sum, want[:]) {
		return nil, damaged("its SHA-256 does not match")
	}
	if version := binary.LittleEndian.Uint32(body[len(kind):]); version != blobVersion {
		return nil, damaged(fmt.Sprintf("layout %d is not known to this program, which reads %d", version, blobVersion))
	}
	length, rest := binary.LittleEndian.Uint32(body[len(kind)+4:]), body[prefix:]
	if length > maxHeader || int(length) > len(rest) {
		return nil, damaged("its header is too long")
	}
	if err := json.Unmarshal(rest[:length], header); err != nil {
		return nil, damaged("its header is no JSON")
	}
	if rest = rest[length:]; len(rest)%8 != 0 {
		return nil, damaged("a number is cut off")
	}
	numbers = make([]float64, len(rest)/8)
	for i := range numbers {
		numbers[i] = math.Float64frombits(binary.LittleEndian.Uint64(rest[8*i:]))
	}
	if notFinite(numbers...) {
		return nil, damaged("a number is not finite")
	}
	return numbers, nil
}

// hashOf is the sum at the end of a blob, in hexadecimal.
func hashOf(blob []byte) string { return hex.EncodeToString(blob[len(blob)-sha256.Size:]) }

// Blob writes the policy. Equal policies have equal blobs.
func (p Policy) Blob() []byte { return encodeBlob(policyKind, p.shape, p.weights) }

// Hash is the SHA-256 that names the policy, 64 hexadecimal digits.
func (p Policy) Hash() string { return hashOf(p.Blob()) }

// ParsePolicy reads what Blob wrote, and nothing that was changed since.
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
		return Policy{}, fault.Newf(fault.InvalidArgument, "the policy has %d weights, its shape needs %d",
			len(numbers), want)
	}
	p.weights = numbers
	if !bytes.Equal(p.Blob(), blob) { // or its Hash would name another file
		return Policy{}, fault.Newf(fault.InvalidArgument,
			"the policy's header is not written as this program writes it")
	}
	return p, nil
}

type adamHeader struct {
	Steps int `json:"steps"`
}

// Blob writes the optimiser's state.
func (a Adam) Blob() []byte { return encodeBlob(optimiserKind, adamHeader{a.steps}, a.first, a.second) }

// Hash is the SHA-256 that names the optimiser's state, 64 hexadecimal digits.
func (a Adam) Hash() string { return hashOf(a.Blob()) }

// ParseAdam reads what Blob wrote.
func ParseAdam(blob []byte) (Adam, error) {
	var header adamHeader
	numbers, err := decodeBlob(optimiserKind, blob, &header)
	if err != nil {
		return Adam{}, err
	}
	half := len(numbers) / 2
	if len(numbers) != 2*half || header.Steps < 0 || (header.Steps == 0) != (half == 0) {
		return Adam{}, fault.Newf(fault.InvalidArgument, "the optimiser's state has %d numbers after %d steps",
			len(numbers), header.Steps)
	}
	a := Adam{steps: header.Steps}
	if half > 0 {
		a.first, a.second = numbers[:half:half], numbers[half:]
	}
	for _, second := range a.second {
		if second < 0 {
			return Adam{}, fault.Newf(fault.InvalidArgument, "the optimiser's state has a negative second moment")
		}
	}
	if !bytes.Equal(a.Blob(), blob) {
		return Adam{}, fault.Newf(fault.InvalidArgument,
			"the optimiser's header is not written as this program writes it")
	}
	return a, nil
}
