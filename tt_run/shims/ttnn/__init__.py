"""The emulated `ttnn`: names only. What each does, and its documentation, is in `tt_run.runtime`.

Operations are not listed here: their declarations publish them.
"""

import tt_run.runtime.tools.comparison_mode as _comparison_mode  # noqa: F401 - follows CONFIG.enable_comparison_mode
from tt_run.runtime.exports import publish as _publish
from tt_run.runtime.exports import tell_absent_modules as _tell_absent_modules
from tt_run.runtime.own_mpi import await_own_mpi as _await_own_mpi
from tt_run.runtime.settings import load_environment as _load_environment

_await_own_mpi()
# The reference reads TTNN_CONFIG_PATH and TTNN_CONFIG_OVERRIDES when it is imported.
_load_environment()

_TABLE = {
    "tt_run.runtime.enums": """
        DataType Layout StorageType BufferType TensorMemoryLayout ShardOrientation ShardStrategy Topology
        FabricConfig FabricReliabilityMode FabricTensixConfig ReduceType MathFidelity DumpTensorMode
        ShardShapeAlignment ShardDistributionStrategy
        bfloat16=DataType.BFLOAT16 float32=DataType.FLOAT32 uint32=DataType.UINT32
        bfloat8_b=DataType.BFLOAT8_B bfloat4_b=DataType.BFLOAT4_B uint8=DataType.UINT8
        uint16=DataType.UINT16 int32=DataType.INT32 fp8_e4m3=DataType.FP8_E4M3 int8=DataType.INT8
        ROW_MAJOR_LAYOUT=Layout.ROW_MAJOR TILE_LAYOUT=Layout.TILE DEVICE_STORAGE_TYPE=StorageType.DEVICE
    """,
    "tt_run.runtime.settings": """
        CONFIG CONFIG_PATH CONFIG_OVERRIDES Config manage_config load_config_from_dictionary
        load_config_from_json_file save_config_to_json_file
    """,
    "tt_run.runtime.mesh": """
        MeshShape MeshCoordinate MeshCoordinateRange MeshCoordinateRangeSet
        compute_distribution_to_mesh_mapping MeshDevice Device=MeshDevice SystemMeshDescriptor FabricNodeId open_mesh_device
        close_mesh_device create_mesh_device open_device close_device
    """,
    "tt_run.runtime.mesh.opening": """
        CreateDevice=create_device CreateDevices=create_devices CloseDevice=close_device
        CloseDevices=close_devices manage_device SetDefaultDevice=set_default_device
        GetDefaultDevice=get_default_device get_num_devices get_num_pcie_devices get_device_ids
        get_pcie_device_ids get_arch_name GetNumAvailableDevices=get_num_devices
        GetNumPCIeDevices=get_num_pcie_devices
    """,
    "tt_run.runtime.mesh.device_functions": "SetRootDir=set_root_dir dump_stack_trace_on_segfault",
    "tt_run.runtime.mesh.directions": "get_eth_forwarding_direction get_forwarding_link_indices",
    "tt_run.runtime.ccl.kernel_words": "get_fabric_kernel_defines",
    "tt_run.runtime.mesh.device_queries": """
        ReadDeviceProfiler=read_device_profiler GetPCIeDeviceID=pcie_device_id apply_device_delay
        get_tt_fabric_max_payload_size_bytes=fabric_payload_bytes
        get_dram_alignment=dram_alignment
        get_l1_alignment=l1_alignment get_all_programs_perf_data=latest_programs_perf_data
        get_physical_mesh_shapes=physical_mesh_shapes
        get_optimal_dram_bank_to_logical_worker_assignment=dram_bank_workers
        get_latest_programs_perf_data=latest_programs_perf_data
        enable_asynchronous_slow_dispatch disable_asynchronous_slow_dispatch
    """,
    "tt_run.runtime.mesh.hardware": "Arch ClusterType DispatchCoreType DispatchCoreAxis",
    "tt_run.runtime.mesh.workers": "DispatchCoreConfig",
    "tt_run.runtime.mesh.view": "SubDevice SubDeviceId SubDeviceManagerId MeshId QueueId SubcontextId",
    "tt_run.runtime.mesh.pictures.as_text": "visualize_system_mesh visualize_mesh_device visualize_tensor",
    "tt_run.runtime.mesh.distributed": """
        init_distributed_context distributed_context_is_initialized using_distributed_env
        distributed_context_get_rank distributed_context_get_size distributed_context_world_rank
        distributed_context_world_size distributed_context_barrier distributed_context_allgather_int
        distributed_context_send_bytes distributed_context_recv_bytes distributed_context_duplicate distributed_context_subcontext_count
        distributed_context_subcontext_id distributed_context_subcontext_size
        distributed_context_subcontext_sizes distributed_context_local_to_world_rank Rank Size Tag
    """,
    "tt_run.runtime.tensor.spec.memory_config": """
        MemoryConfig ShardSpec NdShardSpec DRAM_MEMORY_CONFIG L1_MEMORY_CONFIG
        L1_HEIGHT_SHARDED_MEMORY_CONFIG L1_WIDTH_SHARDED_MEMORY_CONFIG L1_BLOCK_SHARDED_MEMORY_CONFIG CoreCoord CoreRange
        CoreRangeSet CoreGrid create_sharded_memory_config create_sharded_memory_config_
    """,
    "tt_run.runtime.tensor.spec.norm_blocking": "create_layernorm_program_config",
    "tt_run.runtime.tensor.spec.tensor_spec": "Shape Tile TensorSpec TILE_SIZE",
    "tt_run.runtime.tensor.spec.topology": "PlacementReplicate PlacementShard TensorTopology",
    "tt_run.runtime.tensor.tensor": "Tensor",
    "tt_run.runtime.tensor.model_parameters.group_norm": """
        get_group_norm_cores_across_channel create_group_norm_weight_bias_rm create_group_norm_input_mask create_group_norm_input_negative_mask
        dram_group_norm_params_from_torch dram_group_norm_virtual_columns
        determine_expected_group_norm_dram_grid_size create_layer_norm_reciprocals
        determine_expected_group_norm_sharded_config_and_grid_size
    """,
    "tt_run.runtime.tensor.questions": """
        is_tensor_storage_on_device get_memory_config is_sharded has_tile_padding has_storage_type_of
        element_size=bytes_of_element tile_size=bytes_of_tile ttnn_dtype_to_torch_dtype=torch_dtype
        get_optimal_worker_cores_for_sharded_tensor=worker_cores_of
    """,
    "tt_run.runtime.tensor.distribution.per_device": "get_device_tensors from_host_shards combine_device_tensors",
    "tt_run.runtime.tensor.printing": "set_printoptions",
    "tt_run.runtime.tensor.borders.defaults": "distribute",
    "tt_run.runtime.tensor.distribution.configs": "MeshMapperConfig MeshComposerConfig",
    "tt_run.runtime.tensor.distribution.mappers": """
        TensorToMesh CppTensorToMesh ReplicateTensorToMeshWrapper create_mesh_mapper shard_tensor_to_mesh_mapper
        replicate_tensor_to_mesh_mapper ShardTensorToMesh ReplicateTensorToMesh ShardTensor2dMesh
        distribute_tensor
    """,
    "tt_run.runtime.tensor.distribution.composers": """
        MeshToTensor CppMeshToTensor create_mesh_composer concat_mesh_to_tensor_composer ConcatMeshToTensor
        ConcatMesh2dToTensor aggregate_tensor
    """,
    "tt_run.runtime.cores": "num_cores_to_corerangeset corerange_to_cores",
    "tt_run.runtime.core_work": "num_cores_to_corerangeset_in_subcoregrids grid_to_cores split_work_to_cores",
    "tt_run.runtime.tuning.activation": "UnaryOpType UnaryWithParam EltwiseUnaryWithParam=UnaryWithParam",
    "tt_run.runtime.tuning.choices": """
        BinaryOpType LayerNormType DistributedLayerNormStage
        DispatchAlgorithm WorkerMode MMSignalAggregatorMode CoreType FabricUDMMode FabricManagerMode
        FabricType TransferMode TileReshapeMapMode SparseKVFormat ChunkGdnWyInverse
        NOC RoutedExpertActivation RGBRange YUVColorSpace YUVFormat YUVRange
    """,
    "tt_run.runtime.tuning.compute": """
        WormholeComputeKernelConfig DeviceComputeKernelConfig ThrottleLevel init_device_compute_kernel_config
        layernorm_default_compute_config rmsnorm_default_compute_config
        BlackholeComputeKernelConfig=WormholeComputeKernelConfig
        GrayskullComputeKernelConfig=WormholeComputeKernelConfig
    """,
    "tt_run.runtime.tuning.matmul": """
        MatmulMultiCoreReuseProgramConfig MatmulMultiCoreReuseMultiCastProgramConfig
        MatmulMultiCoreReuseMultiCast1DProgramConfig MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig
        MatmulMultiCoreReuseMultiCastBatchedDRAMShardedProgramConfig MinimalMatmulConfig
    """,
    "tt_run.runtime.tuning.blocks": """
        SDPAProgramConfig IndexerScoreProgramConfig PagedCacheGeometryOverride
        LayerNormDefaultProgramConfig LayerNormShardedMultiCoreProgramConfig
        SoftmaxProgramConfig SoftmaxDefaultProgramConfig SoftmaxShardedMultiCoreProgramConfig
    """,
    "tt_run.runtime.tuning.delta_rule": """
        ChunkGdnMonoProgramConfig ChunkGdnPhasedProgramConfig ChunkGdnFusedProgramConfig QkvCausalConv1dSiluProgramConfig
    """,
    "tt_run.runtime.tuning.multicast": """
        McastConfig McastCoreOrder McastDataReady McastExplicitFixedSenderConfig McastFixedSenderConfig
        McastRotatingSenderConfig McastSenderPlacement
    """,
    "tt_run.runtime.tuning.conv": """
        PaddingMode Conv2dConfig Conv1dConfig=Conv2dConfig Conv3dConfig Op2DSliceConfig
        Conv2dSliceConfig=Op2DSliceConfig SlidingWindowParallelConfig get_conv_output_dim
        Conv2dL1Full=SliceTypeEnum.L1Full Conv2dDRAMSliceHeight=SliceTypeEnum.DRAMSliceHeight
        Conv2dDRAMSliceWidth=SliceTypeEnum.DRAMSliceWidth Conv2dL1FullSliceConfig=L1_FULL
        Op2DL1Full=SliceTypeEnum.L1Full Op2DDRAMSliceHeight=SliceTypeEnum.DRAMSliceHeight
        Op2DDRAMSliceWidth=SliceTypeEnum.DRAMSliceWidth Op2DL1FullSliceConfig=L1_FULL
    """,
    "tt_run.runtime.tuning.video": "YUVCoefficients yuv_bt601_coefficients yuv_bt709_coefficients",
    "tt_run.runtime.descriptors.words": "NOC_MODE DataMovementProcessor UnpackToDestMode",
    "tt_run.runtime.descriptors.arguments": "RuntimeArgs",
    "tt_run.runtime.descriptors.buffers": """
        TileDescriptor FaceGeometry CBFormatDescriptor CBDescriptor cb_descriptor_from_sharded_tensor get_cb_address
    """,
    "tt_run.runtime.descriptors.kernels": """
        KernelDescriptor ReaderConfigDescriptor WriterConfigDescriptor DataMovementConfigDescriptor
        ComputeConfigDescriptor SemaphoreDescriptor ProgramDescriptor MeshProgramDescriptor merge_program_descriptors
        compute_program_descriptor_hash
    """,
    "tt_run.runtime.descriptors.global_buffers": "create_global_circular_buffer",
    "tt_run.runtime.descriptors.overlapped": "OverlappedTensor",
    "tt_run.runtime.descriptors.refused": """
        TensorAccessorArgs setup_fabric_connection setup_routing_plane_connection
    """,
    "tt_run.runtime.tuning.fabric": "FabricRouterConfig",
    "tt_run.runtime.ops.elementwise.unary": "GeluVariant SigmoidMode",
    "tt_run.runtime.ops.data_movement.lookup": "EmbeddingsType",
    "tt_run.runtime.ops.elementwise.bcast": "BcastOpMath BcastOpDim",
    "tt_run.runtime.ops.reduction.losses": "LossReductionMode",
    "tt_run.runtime.tools.golden": "get_golden_function get_fallback_function",
    "tt_run.runtime.tools.hooks": "register_pre_operation_hook register_post_operation_hook",
    "tt_run.runtime.tools.registration": """
        register_python_operation create_module_if_not_exists attach_golden_function query_registered_operations
        dump_operations
    """,
    "tt_run.runtime.marks": "start_tracy_zone stop_tracy_zone tracy_message tracy_frame",
    "tt_run.runtime.ccl.exchange.fabric": """
        set_fabric_config get_fabric_config get_tt_fabric_packet_header_size_bytes=packet_header_bytes
    """,
    "tt_run.runtime.ccl.semaphores": """
        create_global_semaphore reset_global_semaphore_value get_global_semaphore_address
    """,
    "tt_run.runtime.sockets.config": """
        SocketEndpoint MeshCoreCoord SocketConnection SocketMemoryConfig SocketConfig
    """,
    "tt_run.runtime.sockets.socket": "MeshSocket create_socket_pair",
    "tt_run.runtime.sockets.host": "H2DMode H2DSocket D2HSocket",
    "tt_run.runtime.sockets.counter_channel": "InterProcessCounterChannel",
    "tt_run.runtime.sockets.services.stage_gates": """
        D2DStageGateConfig D2DStageGateMode D2D_STAGE_GATE_UNGATED_SLOT=UNGATED_SLOT
    """,
    "tt_run.runtime.ccl.usable": "get_all_fabric_mesh_ids get_all_mgd_fabric_types get_num_links get_usable_topology",
    "tt_run.runtime.sockets.services.host_to_device": "H2DStreamService",
    "tt_run.runtime.sockets.services.device_to_host": "D2HStreamService",
    "tt_run.runtime.sockets.services.device_to_device": "D2DStreamService D2DStreamServiceReceiver D2DStreamServiceSender",
    "tt_run.runtime.memory.views": """
        get_memory_view get_max_worker_l1_unreserved_size=max_worker_l1_bytes
        get_allocator_base_address=allocator_base_address dump_device_memory_state=dump_memory_state
    """,
    "tt_run.runtime.queues": """
        MeshEvent record_event wait_for_event event_synchronize synchronize_device command_queue
        get_current_command_queue_id_for_thread=current_queue
    """,
    "tt_run.runtime.trace": """
        MeshTraceId begin_trace_capture end_trace_capture execute_trace release_trace
        is_trace_capture_active
    """,
}

_SUBMODULES = (
    "decorators",
    "_ttnn",
    "ccl",
    "cluster",
    "comparison",
    "config_serialization",
    "core",
    "database",
    "device",
    "distributed",
    "dot_access",
    "experimental",
    "fabric",
    "graph",
    "graph_report",
    "kv_cache",
    "model_preprocessing",
    "operation_tracer",
    "operations",
    "profiler",
    "reflection",
    "tools",
    "torch_tracer",
    "tracer",
    "transformer",
    "types",
)

_tell_absent_modules()

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES, operations="ttnn")
