"""word2vec (Mikolov et al. 2013): {skip-gram, CBOW} × {negative sampling, NCE, hierarchical softmax, full softmax}.

Every pair is a hidden vector h that must tell a target word w:

    skip-gram: h = v of one word        CBOW: h = mean (or sum) of the v of the words around the target

    full softmax         J = −log exp(u_w · h) / Σ_v exp(u_v · h)                        Mikolov et al. 2013b, eq. 2
    hierarchical         J = −Σ_j log σ(±u_{n(w, j)} · h), + where bit j of w's code is 0  eq. 3
    negative sampling    J = −log σ(u_w · h) − K/S Σ_s log σ(−u_{n_s} · h)                eq. 4, S noise words for K
    NCE                  the same with score u_w · h + b_w − log(K P_noise(w))            Mnih and Kavukcuoglu 2013

`method` trains all eight by Numba kernels; `skipgram` is skip-gram with negative sampling in PyTorch, for a GPU.
"""
