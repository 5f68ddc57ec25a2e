//! Marks and links on the graphics card: two instanced draws, one for the links and one for the marks above them.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use egui::Color32;
use egui_wgpu::wgpu;
use egui_wgpu::wgpu::util::DeviceExt as _;

const SHADER: &str = include_str!("../../../shaders/graph_view.wgsl");

/// Vertices of a link's strip; the shader cuts a curve into 24 pieces.
const LINK_VERTICES: u32 = 2 * (24 + 1);

/// A colour as the shader reads it: red first, gamma-encoded, premultiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Rgba8(pub [u8; 4]);

impl From<Color32> for Rgba8 {
    fn from(color: Color32) -> Self {
        Self(color.to_array())
    }
}

/// A box with round corners; positions and sizes in units of the layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Mark {
    /// Its middle.
    pub center: [f32; 2],
    /// Half of its width and height.
    pub half_size: [f32; 2],
    /// Radius of its corners; half of its size makes a circle.
    pub corner: f32,
    /// Width of its outline in physical pixels; 0 for none.
    pub outline: f32,
    /// What it is filled with.
    pub fill: Rgba8,
    /// Colour of the outline.
    pub stroke: Rgba8,
}

/// A cubic curve; positions in units of the layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Link {
    /// Start, the two control points, end.
    pub points: [[f32; 2]; 4],
    /// Colour at the start.
    pub start_color: Rgba8,
    /// Colour at the end.
    pub end_color: Rgba8,
    /// Width in physical pixels.
    pub width: f32,
}

/// What is drawn, in order: links first, then marks. Uploaded when `generation` changes.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// The links.
    pub links: Vec<Link>,
    /// The marks, containers before what they hold.
    pub marks: Vec<Mark>,
    /// Another number whenever the rest changed.
    pub generation: u64,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Uniform {
    center: [f32; 2],
    scale: f32,
    encodes_gamma: u32,
    size: [f32; 2],
    padding: [f32; 2],
}

/// A frame of the view: a picture and where it is looked at.
pub struct Draw {
    /// What is drawn.
    pub picture: Arc<Picture>,
    /// What of the layout is in the middle of the view.
    pub center: [f32; 2],
    /// Physical pixels a unit of the layout.
    pub scale: f32,
    /// Size of the view in physical pixels.
    pub size: [f32; 2],
    /// Format of what is drawn into.
    pub format: wgpu::TextureFormat,
}

impl egui_wgpu::CallbackTrait for Draw {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _screen: &egui_wgpu::ScreenDescriptor,
        _encoder: &mut wgpu::CommandEncoder,
        resources: &mut egui_wgpu::CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        let pipelines = resources
            .entry::<Pipelines>()
            .or_insert_with(|| Pipelines::new(device, self.format));
        pipelines.upload(device, &self.picture);
        let uniform = Uniform {
            center: self.center,
            scale: self.scale,
            encodes_gamma: u32::from(self.format.is_srgb()),
            size: self.size,
            padding: [0.0; 2],
        };
        queue.write_buffer(&pipelines.uniform, 0, bytemuck::bytes_of(&uniform));
        Vec::new()
    }

    fn paint(
        &self,
        _info: egui::PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        resources: &egui_wgpu::CallbackResources,
    ) {
        let Some(pipelines) = resources.get::<Pipelines>() else {
            return;
        };
        pass.set_bind_group(0, &pipelines.group, &[]);
        let draws = [
            (&pipelines.links, &pipelines.link_buffer, LINK_VERTICES),
            (&pipelines.marks, &pipelines.mark_buffer, 4),
        ];
        for (pipeline, instances, vertices) in draws {
            if let Some((buffer, count)) = instances {
                pass.set_pipeline(pipeline);
                pass.set_vertex_buffer(0, buffer.slice(..));
                pass.draw(0..vertices, 0..*count);
            }
        }
    }
}

struct Pipelines {
    links: wgpu::RenderPipeline,
    marks: wgpu::RenderPipeline,
    uniform: wgpu::Buffer,
    group: wgpu::BindGroup,
    link_buffer: Option<(wgpu::Buffer, u32)>,
    mark_buffer: Option<(wgpu::Buffer, u32)>,
    generation: Option<u64>,
}

impl Pipelines {
    fn new(device: &wgpu::Device, format: wgpu::TextureFormat) -> Self {
        let shader = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("graph view"),
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let uniform = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("graph view"),
            size: size_of::<Uniform>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let group_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("graph view"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            }],
        });
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("graph view"),
            layout: &group_layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: uniform.as_entire_binding(),
            }],
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("graph view"),
            bind_group_layouts: &[Some(&group_layout)],
            immediate_size: 0,
        });
        let pipeline = |name: &str, stride: usize, attributes: &[wgpu::VertexAttribute]| {
            device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some("graph view"),
                layout: Some(&layout),
                vertex: wgpu::VertexState {
                    module: &shader,
                    entry_point: Some(&format!("{name}_vertex")),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    buffers: &[Some(wgpu::VertexBufferLayout {
                        array_stride: stride as u64,
                        step_mode: wgpu::VertexStepMode::Instance,
                        attributes,
                    })],
                },
                primitive: wgpu::PrimitiveState {
                    topology: wgpu::PrimitiveTopology::TriangleStrip,
                    ..wgpu::PrimitiveState::default()
                },
                depth_stencil: None,
                multisample: wgpu::MultisampleState::default(),
                fragment: Some(wgpu::FragmentState {
                    module: &shader,
                    entry_point: Some(&format!("{name}_fragment")),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    targets: &[Some(wgpu::ColorTargetState {
                        format,
                        blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                        write_mask: wgpu::ColorWrites::ALL,
                    })],
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let links = pipeline(
            "link",
            size_of::<Link>(),
            &wgpu::vertex_attr_array![
                0 => Float32x2, 1 => Float32x2, 2 => Float32x2, 3 => Float32x2,
                4 => Unorm8x4, 5 => Unorm8x4, 6 => Float32
            ],
        );
        let marks = pipeline(
            "mark",
            size_of::<Mark>(),
            &wgpu::vertex_attr_array![
                0 => Float32x2, 1 => Float32x2, 2 => Float32, 3 => Float32, 4 => Unorm8x4, 5 => Unorm8x4
            ],
        );
        Self {
            links,
            marks,
            uniform,
            group,
            link_buffer: None,
            mark_buffer: None,
            generation: None,
        }
    }

    fn upload(&mut self, device: &wgpu::Device, picture: &Picture) {
        if self.generation == Some(picture.generation) {
            return;
        }
        self.generation = Some(picture.generation);
        let buffer = |bytes: &[u8], count: usize| {
            let descriptor = wgpu::util::BufferInitDescriptor {
                label: Some("graph view"),
                contents: bytes,
                usage: wgpu::BufferUsages::VERTEX,
            };
            (count > 0).then(|| (device.create_buffer_init(&descriptor), count as u32))
        };
        self.link_buffer = buffer(bytemuck::cast_slice(&picture.links), picture.links.len());
        self.mark_buffer = buffer(bytemuck::cast_slice(&picture.marks), picture.marks.len());
    }
}
