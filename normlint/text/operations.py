"""List torch's operations by class; this is the only list of operations.

The sieve takes its words from here, and `normlint.evaluate.ops` what an operation makes of its operands where its class
is enough. `tests/evaluate/test_operations.py` fails for a public function or method of torch that has no class. A word
stands for the in-place form too (`add` for `add_`); to add an operation is to add its word.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is slow to import, and the sieve imports this first
if TYPE_CHECKING:
    from typing import Final

# The sieve reads a text as one with a norm if it calls one of these,
PATTERNED: Final = "einsum vecdot"  # sums of products of their operands
MEANS: Final = f"mean sum nansum sum_to_size nanmean var var_mean reduce average {PATTERNED}"
# or a sum or mean over an axis or a window by another name,
SUMMING: Final = (
    "cumsum trapezoid trapz index_add scatter_add avg_pool1d adaptive_avg_pool1d AvgPool1d AdaptiveAvgPool1d"
)
LENGTHS: Final = "std std_mean norm vector_norm frobenius_norm normalize"  # these take a root themselves
# or one of torch's own norms,
FUSED: Final = "rms_norm layer_norm native_layer_norm"
# or one of these products, of a tensor with itself; and if it takes a root.
PRODUCTS: Final = "dot vdot inner matmul mm bmm"
ROOTS: Final = "sqrt rsqrt reciprocal"
POWERS: Final = "pow float_power square"
# These also sum a tensor or its squares, if the other operand is a constant or the tensor itself.
CONTRACTIONS: Final = """
    dot vdot inner matmul mm bmm mv tensordot linear bilinear addmm addmv addbmm baddbmm addr chain_matmul multi_dot
    sspaddmm smm dsmm hsmm spmm hspmm saddmm grouped_mm scaled_mm scaled_grouped_mm
"""
DISTANCES: Final = "mse_loss pairwise_distance dist cdist"
CONSTANTS: Final = "ones zeros full eye ones_like zeros_like full_like new_full new_ones new_zeros"

CLASSES: Final[dict[str, str]] = {
    # products and quotients of the operands
    "scaling": "mul multiply div divide true_divide ldexp outer ger kron cross",
    # sums of operands, each perhaps scaled: homogeneous where all of them are
    "sum": "add sub subtract rsub lerp addcmul addcdiv logaddexp logaddexp2",
    # sums of products of two operands over shared axes
    "contraction": CONTRACTIONS,
    "power": f"{ROOTS} {POWERS}",
    "statistic": f"{MEANS} {LENGTHS}",
    # other reductions: one value for each group of elements
    "reduction": """
        amax amin aminmax argmax argmin all any max min median nanmedian mode prod logsumexp quantile nanquantile
        kthvalue count_nonzero trace det logdet slogdet matrix_norm nuclear_norm norm_except_dim cond matrix_rank
        cosine_similarity pdist avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool2d
        adaptive_avg_pool3d max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices
        max_pool3d_with_indices adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d lp_pool2d lp_pool3d
        adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices
        fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices
        lp_pool1d adaptive_avg_pool1d fractional_max_pool3d_with_indices mkldnn_adaptive_avg_pool2d
        mkldnn_max_pool2d mkldnn_max_pool3d
        quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d segment_reduce corrcoef cov
        trapezoid trapz native_norm
    """,
    "distance": DISTANCES,
    # the same elements in another shape
    "layout": """
        view view_as reshape reshape_as flatten unflatten swapdims swapaxes movedim moveaxis ravel
        squeeze unsqueeze permute transpose t adjoint expand expand_as broadcast_to rearrange repeat
        repeat_interleave tile atleast_1d atleast_2d atleast_3d view_copy permute_copy transpose_copy t_copy
        unsqueeze_copy squeeze_copy expand_copy alias_copy
    """,
    # the same elements as they are
    "same": """
        contiguous clone alias cuda cpu requires_grad requires_grad_ pin_memory retain_grad xpu ipu mtia share_memory
        train eval conj conj_physical real resolve_conj resolve_neg to_dense coalesce as_subclass positive dequantize
    """,
    # some of the elements, in another order, or those of several tensors together
    "selection": """
        unfold unfold_copy chunk split unbind select narrow index_select masked_select gather take take_along_dim
        diag diagonal
        tensor_split hsplit vsplit dsplit split_with_sizes unsafe_chunk unsafe_split unsafe_split_with_sizes
        split_copy split_with_sizes_copy unbind_copy select_copy narrow_copy diagonal_copy slice_copy index topk
        sort msort unique unique_consecutive nonzero nonzero_static argwhere argsort cat concat concatenate
        stack hstack vstack dstack row_stack column_stack block_diag cartesian_prod combinations meshgrid
        broadcast_tensors tril triu pad constant_pad_nd where masked_fill masked_scatter scatter scatter_add
        scatter_reduce index_add index_copy index_fill index_put index_reduce put select_scatter slice_scatter
        diagonal_scatter as_strided_scatter fill_diagonal sparse_mask embedding max_unpool1d max_unpool2d
        max_unpool3d slice_inverse as_strided as_strided_copy channel_shuffle native_channel_shuffle
        pixel_shuffle pixel_unshuffle flip fliplr flipud roll rot90 diag_embed diagflat
    """,
    # f(c·x) = c·f(x) for c > 0
    "degree 1": """
        abs absolute fabs neg negative relu leaky_relu prelu rrelu nan_to_num dropout dropout1d dropout2d dropout3d
        feature_dropout native_dropout hypot copysign maximum minimum fmax fmin imag
        deg2rad rad2deg cummax cummin cumsum diff cumulative_trapezoid gradient
    """,
    # f(c·x) = f(x) for c > 0
    "degree 0": """
        sign sgn signbit angle atan2 arctan2 isfinite isinf isnan isneginf isposinf isreal heaviside logical_and
        logical_not logical_or logical_xor eq ne gt ge lt le not_equal greater greater_equal less less_equal
        one_hot
    """,
    # other functions of each element
    "pointwise": """
        exp exp2 expm1 log log10 log1p log2 sigmoid expit tanh silu mish gelu elu celu selu softplus softsign
        softshrink hardshrink hardsigmoid hardswish hardtanh relu6 logsigmoid tanhshrink threshold glu sin cos tan
        sinh cosh asin acos atan asinh acosh atanh arcsin arccos arctan arcsinh arccosh arctanh sinc clamp clip
        clamp_min clamp_max ceil floor round trunc fix frac frexp fmod remainder floor_divide erf erfc erfcx erfinv
        lgamma gammaln digamma psi polygamma multigammaln mvlgamma gammainc gammaincc igamma igammac i0 i0e i1 i1e
        ndtr ndtri log_ndtr entr logit xlogy xlog1py zeta softmax log_softmax softmin gumbel_softmax logcumsumexp
        cumprod bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift gcd lcm
        nextafter renorm alpha_dropout feature_alpha_dropout bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0
        modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0
        scaled_modified_bessel_k1 spherical_bessel_j0 airy_ai chebyshev_polynomial_t chebyshev_polynomial_u
        chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he
        laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
        shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w isclose isin bucketize searchsorted polar
        complex fake_quantize_per_channel_affine fake_quantize_per_tensor_affine
    """,
    "cast": """
        float double half bfloat16 int long short char byte bool cfloat cdouble chalf to type type_as asarray
        as_tensor promote_types result_type detach detach_copy stop_gradient item tolist numpy view_as_real
        view_as_complex view_as_real_copy view_as_complex_copy
    """,
    "creation": f"""
        {CONSTANTS}
        empty rand randn randint randperm empty_like rand_like
        randn_like randint_like new new_empty new_empty_strided new_tensor tensor
        scalar_tensor arange range linspace logspace empty_permuted empty_quantized empty_strided
        Tensor FloatTensor Parameter Buffer UninitializedParameter bartlett_window blackman_window hamming_window
        hann_window kaiser_window tril_indices triu_indices vander normal bernoulli binomial poisson multinomial
        cauchy exponential geometric log_normal random uniform fill zero copy from_numpy frombuffer from_file
        from_dlpack sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor
        sparse_csc_tensor sparse_csr_tensor
    """,
    # questions about a tensor or torch that don't return a tensor
    "question": """
        size dim ndimension numel nelement dim_order stride storage_offset element_size get_device is_floating_point
        is_complex is_contiguous is_conj is_neg is_signed is_inference is_coalesced is_distributed is_nonzero
        is_pinned is_same_size is_set_to is_shared is_storage is_tensor is_vulkan_available allclose equal can_cast
        data_ptr const_data_ptr dense_dim sparse_dim broadcast_shapes typename get_default_dtype
        get_default_device get_autocast_dtype get_autocast_cpu_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype
        get_autocast_xla_dtype is_autocast_enabled is_autocast_cpu_enabled is_autocast_ipu_enabled
        is_autocast_xla_enabled is_autocast_cache_enabled is_grad_enabled is_inference_mode_enabled
        is_anomaly_enabled is_anomaly_check_nan_enabled is_warn_always_enabled
        is_deterministic_algorithms_warn_only_enabled are_deterministic_algorithms_enabled cudnn_is_acceptable
        compiled_with_cxx11_abi get_deterministic_debug_mode get_device_module get_file_path
        get_float32_matmul_precision get_num_interop_threads get_num_threads get_rng_state initial_seed seed
        storage storage_type untyped_storage qscheme q_per_channel_axis q_per_channel_scales
        q_per_channel_zero_points q_scale q_zero_point has_torch_function has_torch_function_unary
        has_torch_function_variadic
    """,
    "fused norm": FUSED,
    "norm": """
        group_norm native_group_norm batch_norm native_batch_norm
        instance_norm local_response_norm cudnn_batch_norm miopen_batch_norm quantized_batch_norm batch_norm_elemt
        batch_norm_stats batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_update_stats
        batch_norm_backward_elemt batch_norm_backward_reduce
    """,
    # not followed
    "opaque": """
        Optional affine_grid affine_grid_generator apply assert_int_or_pair autocast_decrement_nesting
        autocast_increment_nesting backward binary_cross_entropy binary_cross_entropy_with_logits bincount
        boolean_dispatch ccol_indices ccol_indices_copy cholesky cholesky_ex cholesky_inverse cholesky_solve
        choose_qparams_optimized classproperty clear_autocast_cache col_indices col_indices_copy compile conv1d
        conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution cosine_embedding_loss
        cross_entropy crow_indices crow_indices_copy ctc_loss cudnn_affine_grid_generator cudnn_convolution
        cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler eig eigh
        eigvals eigvalsh embedding_bag embedding_renorm fbgemm_linear_fp16_weight
        fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight
        fbgemm_linear_int8_weight_fp32_activation fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16
        fbgemm_pack_quantized_matrix fold fork fused_moving_avg_obs_fake_quant gaussian_nll_loss geqrf grid_sample
        grid_sampler grid_sampler_2d grid_sampler_3d gru gru_cell handle_torch_function hash_tensor
        hinge_embedding_loss histc histogram histogramdd householder_product huber_loss import_ir_module
        import_ir_module_from_buffer indices indices_copy init_num_threads int_repr interpolate inv inv_ex inverse
        istft kl_div l1_loss ldl_factor ldl_factor_ex ldl_solve linear_cross_entropy load lobpcg lstm lstm_cell
        lstsq lu lu_factor lu_factor_ex lu_solve lu_unpack manual_seed map map2 margin_ranking_loss matrix_exp
        matrix_power merge_type_from_type_comment miopen_convolution miopen_convolution_add_relu
        miopen_convolution_relu miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution miopen_rnn
        mkldnn_convolution mkldnn_linear_backward_weights mkldnn_rnn_layer module_load
        multi_head_attention_forward multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss
        orgqr ormqr parse_ir parse_schema parse_type_comment pca_lowrank pinv pinverse poisson_nll_loss
        prepare_multiprocessing_environment profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 qr
        quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_gru quantized_gru_cell
        quantized_lstm quantized_lstm_cell quantized_rnn_relu_cell quantized_rnn_tanh_cell record_stream
        register_hook register_post_accumulate_grad_hook reinforce resize resize_as resize_as_sparse rnn_relu
        rnn_relu_cell rnn_tanh rnn_tanh_cell row_indices row_indices_copy save scaled_dot_product_attention set
        set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
        set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype set_autocast_ipu_dtype
        set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled set_default_device
        set_default_dtype set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision
        set_flush_denormal set_num_interop_threads set_num_threads set_printoptions set_rng_state set_warn_always
        smooth_l1_loss soft_margin_loss solve solve_ex solve_triangular sparse_resize sparse_resize_and_clear stft
        svd svd_lowrank svdvals sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int
        sym_ite sym_max sym_min sym_not sym_sqrt sym_sum symeig tensorinv tensorsolve thread_safe_generator
        to_dlpack to_mkldnn to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc
        to_sparse_csr triangular_solve triplet_margin_loss triplet_margin_with_distance_loss unify_type_list
        unravel_index upsample upsample_bilinear upsample_nearest use_deterministic_algorithms values values_copy
        vmap wait while_loop
    """,
}
