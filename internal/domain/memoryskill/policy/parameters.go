package policy

// parameters are the layers of a policy as views of one vector. The optimizer, the clipping and the
// file use the vector, and the network uses the layers.
type parameters struct {
	state1, state2   linear
	skill1, skill2   linear
	scale            []float64 // κ, one number
	critic1, critic2 linear
}

func (s Shape) view(vector []float64) parameters {
	sizes := s.layers()
	next := func() linear {
		in, out := sizes[0].in, sizes[0].out
		sizes = sizes[1:]
		l := linear{
			weights: matrix{rows: out, cols: in, data: vector[: out*in : out*in]},
			bias:    vector[out*in : out*(in+1) : out*(in+1)],
		}
		vector = vector[out*(in+1):]
		return l
	}
	p := parameters{state1: next(), state2: next(), skill1: next(), skill2: next(), critic1: next(), critic2: next()}
	p.scale = vector // the rest
	return p
}
