/* ---- The little of Vulkan that is needed, declared here: no header, nothing to link with ---- */

typedef uint64_t Object; /* a handle that is not dispatchable */

struct application_info {
    uint32_t sType; const void *pNext;
    const char *name; uint32_t version; const char *engine; uint32_t engine_version, api;
};
struct instance_info {
    uint32_t sType; const void *pNext;
    uint32_t flags; const struct application_info *application;
    uint32_t layer_count; const char *const *layers; uint32_t extension_count; const char *const *extensions;
};
/* Every feature structure is a header and VkBool32 members. */
struct members { uint32_t sType; void *pNext; uint32_t values[64]; };
/* VkPhysicalDeviceProperties2, of whose limits the first suffice. */
struct properties {
    uint32_t sType; void *pNext;
    uint32_t api, driver, vendor, device, type; char name[256]; uint8_t cache[16];
    struct {
        uint32_t skipped0[6];
        uint32_t maxUniformBufferRange, maxStorageBufferRange, maxPushConstantsSize, skipped1[2];
        uint64_t skipped2[2];
        uint32_t skipped3[2], maxPerStageDescriptorUniformBuffers, maxPerStageDescriptorStorageBuffers, skipped4[34];
        uint32_t maxComputeSharedMemorySize, maxComputeWorkGroupCount[3], maxComputeWorkGroupInvocations;
        uint32_t maxComputeWorkGroupSize[3];
    } limits;
    uint64_t rest[128];
};
struct properties11 {
    uint32_t sType; void *pNext;
    uint8_t ids[40]; uint32_t node_mask, luid_valid, subgroupSize, stages, operations; uint64_t rest[32];
};
struct properties12 {
    uint32_t sType; void *pNext;
    uint32_t id; char name[256], info[256]; uint8_t conformance[4]; uint32_t independence[2];
    uint32_t float_modes[15]; /* five modes for 16, 32 and 64 bits */ uint64_t rest[64];
};
struct properties13 {
    uint32_t sType; void *pNext; uint32_t minSubgroupSize, maxSubgroupSize; uint64_t rest[64];
};
struct queue_family { uint32_t flags, count, timestamps, granularity[3]; };
struct extension { char name[256]; uint32_t version; };
struct memory_types {
    uint32_t count; struct { uint32_t flags, heap; } types[32];
    uint32_t heap_count; struct { uint64_t size; uint32_t flags; } heaps[16];
};
struct queue_info {
    uint32_t sType; const void *pNext;
    uint32_t flags, family, count; const float *priorities;
};
struct device_info {
    uint32_t sType; const void *pNext;
    uint32_t flags, queue_count; const struct queue_info *queues;
    uint32_t layer_count; const char *const *layers; uint32_t extension_count; const char *const *extensions;
    const void *features;
};
struct buffer_info {
    uint32_t sType; const void *pNext;
    uint32_t flags; uint64_t size; uint32_t usage, sharing, family_count; const uint32_t *families;
};
struct requirements { uint64_t size, alignment; uint32_t types; };
struct memory_info { uint32_t sType; const void *pNext; uint64_t size; uint32_t type; };
//% if addressable %//
struct memory_flags { uint32_t sType; const void *pNext; uint32_t flags, mask; };
struct address_info { uint32_t sType; const void *pNext; Object buffer; };
//% endif %//
struct module_info { uint32_t sType; const void *pNext; uint32_t flags; size_t size; const uint32_t *words; };
struct slot { uint32_t binding, type, count, stages; const Object *samplers; };
struct set_layout_info { uint32_t sType; const void *pNext; uint32_t flags, count; const struct slot *slots; };
struct push_range { uint32_t stages, offset, size; };
struct layout_info {
    uint32_t sType; const void *pNext;
    uint32_t flags, set_count; const Object *sets; uint32_t push_count; const struct push_range *push;
};
struct specialization { uint32_t count; const struct constant *constants; size_t size; const void *data; };
struct required_size { uint32_t sType; const void *pNext; uint32_t size; };
struct stage_info {
    uint32_t sType; const void *pNext;
    uint32_t flags, stage; Object module; const char *entry; const struct specialization *specialization;
};
struct pipeline_info {
    uint32_t sType; const void *pNext;
    uint32_t flags; struct stage_info stage; Object layout, base; int32_t base_index;
};
struct pool_size { uint32_t type, count; };
struct pool_info {
    uint32_t sType; const void *pNext;
    uint32_t flags, sets, size_count; const struct pool_size *sizes;
};
struct set_info { uint32_t sType; const void *pNext; Object pool; uint32_t count; const Object *layouts; };
struct descriptor { Object buffer; uint64_t offset, range; };
struct write {
    uint32_t sType; const void *pNext;
    Object set; uint32_t binding, element, count, type;
    const void *images; const struct descriptor *buffers; const void *views;
};
struct command_pool_info { uint32_t sType; const void *pNext; uint32_t flags, family; };
struct commands_info { uint32_t sType; const void *pNext; Object pool; uint32_t level, count; };
struct begin_info { uint32_t sType; const void *pNext; uint32_t flags; const void *inheritance; };
struct fence_info { uint32_t sType; const void *pNext; uint32_t flags; };
struct barrier { uint32_t sType; const void *pNext; uint32_t before, after; };
struct copy { uint64_t from, to, size; };
struct submit_info {
    uint32_t sType; const void *pNext;
    uint32_t wait_count; const Object *waits; const uint32_t *stages;
    uint32_t commands_count; void *const *commands; uint32_t signal_count; const Object *signals;
};
//% if matrices %//
struct matrix_properties { uint32_t sType; void *pNext; uint32_t stages; };
struct listed_row { uint32_t sType; void *pNext; uint32_t m, n, k, a, b, c, result, saturating, scope; };
struct flexible_row {
    uint32_t sType; void *pNext; uint32_t m, n, k, a, b, c, result, saturating, scope, invocations;
};
struct matrix2_properties { uint32_t sType; void *pNext; uint32_t max_workgroup, max_dimension, reserved_shared; };
//% endif %//
//% if cooperative_vectors %//
struct vector_properties { uint32_t sType; void *pNext; uint32_t stages, float16, float32, max_components; };
struct vector_row {
    uint32_t sType; void *pNext;
    uint32_t input, input_interpretation, matrix, bias, result, transpose;
};
//% endif %//
//% if longest_vector > 4 %//
struct long_vector_properties { uint32_t sType; void *pNext; uint32_t max_components; };
//% endif %//
//% if converts %//
struct convert_info {
    uint32_t sType; const void *pNext;
    size_t source_size; uint64_t source; size_t *destination_size; uint64_t destination;
    uint32_t source_component, destination_component, rows, columns, source_layout;
    size_t source_stride; uint32_t destination_layout; size_t destination_stride;
};
//% endif %//
//% if commands_convert %//
struct barrier2 { uint32_t sType; const void *pNext; uint64_t stages0, access0, stages1, access1; };
struct dependency_info {
    uint32_t sType; const void *pNext;
    uint32_t flags, count; const struct barrier2 *barriers;
    uint32_t buffer_count; const void *buffers; uint32_t image_count; const void *images;
};
//% endif %//

enum { COMPUTE = 0x20, STORAGE = 7, UNIFORM = 6, TIMEOUT = 2, WHOLE_SUBMISSION = 60 /* seconds */ };

#define INSTANCE_FUNCTIONS(X) \
    X(void, vkDestroyInstance, (void *, const void *)) \
    X(int32_t, vkEnumeratePhysicalDevices, (void *, uint32_t *, void **)) \
    X(void, vkGetPhysicalDeviceFeatures2, (void *, struct members *)) \
    X(void, vkGetPhysicalDeviceProperties, (void *, void *)) \
    X(void, vkGetPhysicalDeviceProperties2, (void *, struct properties *)) \
    X(void, vkGetPhysicalDeviceQueueFamilyProperties, (void *, uint32_t *, struct queue_family *)) \
    X(void, vkGetPhysicalDeviceMemoryProperties, (void *, struct memory_types *)) \
    X(int32_t, vkEnumerateDeviceExtensionProperties, (void *, const char *, uint32_t *, struct extension *)) \
    X(int32_t, vkCreateDevice, (void *, const struct device_info *, const void *, void **)) \
    X(Function, vkGetDeviceProcAddr, (void *, const char *))

#define DEVICE_FUNCTIONS(X) \
    X(void, vkDestroyDevice, (void *, const void *)) \
    X(void, vkGetDeviceQueue, (void *, uint32_t, uint32_t, void **)) \
    X(int32_t, vkCreateBuffer, (void *, const struct buffer_info *, const void *, Object *)) \
    X(void, vkDestroyBuffer, (void *, Object, const void *)) \
    X(void, vkGetBufferMemoryRequirements, (void *, Object, struct requirements *)) \
    X(int32_t, vkAllocateMemory, (void *, const struct memory_info *, const void *, Object *)) \
    X(void, vkFreeMemory, (void *, Object, const void *)) \
    X(int32_t, vkBindBufferMemory, (void *, Object, Object, uint64_t)) \
    X(int32_t, vkMapMemory, (void *, Object, uint64_t, uint64_t, uint32_t, void **)) \
//% if addressable %//
    X(uint64_t, vkGetBufferDeviceAddress, (void *, const struct address_info *)) \
//% endif %//
    X(int32_t, vkCreateShaderModule, (void *, const struct module_info *, const void *, Object *)) \
    X(void, vkDestroyShaderModule, (void *, Object, const void *)) \
    X(int32_t, vkCreateDescriptorSetLayout, (void *, const struct set_layout_info *, const void *, Object *)) \
    X(void, vkDestroyDescriptorSetLayout, (void *, Object, const void *)) \
    X(int32_t, vkCreatePipelineLayout, (void *, const struct layout_info *, const void *, Object *)) \
    X(void, vkDestroyPipelineLayout, (void *, Object, const void *)) \
    X(int32_t, vkCreateComputePipelines, \
      (void *, Object, uint32_t, const struct pipeline_info *, const void *, Object *)) \
    X(void, vkDestroyPipeline, (void *, Object, const void *)) \
//% if descriptors %//
    X(int32_t, vkCreateDescriptorPool, (void *, const struct pool_info *, const void *, Object *)) \
    X(void, vkDestroyDescriptorPool, (void *, Object, const void *)) \
    X(int32_t, vkAllocateDescriptorSets, (void *, const struct set_info *, Object *)) \
    X(void, vkUpdateDescriptorSets, (void *, uint32_t, const struct write *, uint32_t, const void *)) \
    X(void, vkCmdBindDescriptorSets, \
      (void *, uint32_t, Object, uint32_t, uint32_t, const Object *, uint32_t, const uint32_t *)) \
//% endif %//
    X(int32_t, vkCreateCommandPool, (void *, const struct command_pool_info *, const void *, Object *)) \
    X(void, vkDestroyCommandPool, (void *, Object, const void *)) \
    X(int32_t, vkAllocateCommandBuffers, (void *, const struct commands_info *, void **)) \
    X(int32_t, vkBeginCommandBuffer, (void *, const struct begin_info *)) \
    X(int32_t, vkEndCommandBuffer, (void *)) \
    X(void, vkCmdBindPipeline, (void *, uint32_t, Object)) \
//% if push_bytes %//
    X(void, vkCmdPushConstants, (void *, Object, uint32_t, uint32_t, uint32_t, const void *)) \
//% endif %//
    X(void, vkCmdDispatch, (void *, uint32_t, uint32_t, uint32_t)) \
    X(void, vkCmdCopyBuffer, (void *, Object, Object, uint32_t, const struct copy *)) \
    X(void, vkCmdPipelineBarrier, \
      (void *, uint32_t, uint32_t, uint32_t, uint32_t, const struct barrier *, uint32_t, const void *, uint32_t, \
       const void *)) \
//% if commands_convert %//
    X(void, vkCmdPipelineBarrier2, (void *, const struct dependency_info *)) \
    X(void, vkCmdConvertCooperativeVectorMatrixNV, (void *, uint32_t, const struct convert_info *)) \
//% endif %//
//% if converts %//
    X(int32_t, vkConvertCooperativeVectorMatrixNV, (void *, const struct convert_info *)) \
//% endif %//
    X(int32_t, vkCreateFence, (void *, const struct fence_info *, const void *, Object *)) \
    X(void, vkDestroyFence, (void *, Object, const void *)) \
    X(int32_t, vkQueueSubmit, (void *, uint32_t, const struct submit_info *, Object)) \
    X(int32_t, vkWaitForFences, (void *, uint32_t, const Object *, uint32_t, uint64_t))

typedef void (*Function)(void);
#define DECLARE(result, name, parameters) static result (*name) parameters;
INSTANCE_FUNCTIONS(DECLARE)
DEVICE_FUNCTIONS(DECLARE)
static Function (*vkGetInstanceProcAddr)(void *, const char *);
static int32_t (*vkCreateInstance)(const struct instance_info *, const void *, void **);
