package executor

// Window is a range of tokens, To excluded.
type Window struct{ From, To int }

// Windows divides n tokens into overlapping windows. If n fits into size, there is one window. No
// window is inside the previous one.
func Windows(n, size, overlap int) []Window {
	if size = max(1, size); n <= size {
		return []Window{{0, n}}
	}
	overlap = max(0, min(overlap, size-1))
	var out []Window
	for start := 0; start == 0 || start < n-overlap; start += size - overlap {
		out = append(out, Window{start, min(n, start+size)})
	}
	return out
}
